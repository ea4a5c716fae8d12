"""Person or machine, by subject and words in many languages, which count only with another sign (CASES C)."""

import pytest

from support.mails import kind, read


# One who writes so is no person: a subject in each language (the word is ours, or what a mail program puts there).
SUBJECTS = {
    "en": (
        "Automatic reply",
        "Automated response",
        "Auto Response",
        "Out of Office",
        "Vacation response",
        "OOO",
    ),
    "de": (
        "Automatische Antwort",
        "Abwesenheitsnotiz",
        "Abwesenheitsmeldung",
        "Automatisierte Antwort",
    ),
    "fr": ("Réponse automatique", "Message d'absence", "Message automatique"),
    "es": ("Respuesta automática", "Fuera de la oficina", "Autorespuesta"),
    "pt": ("Resposta automática", "Ausência temporária"),
    "ca": ("Resposta automàtica",),
    "it": ("Risposta automatica", "Fuori ufficio"),
    "nl": ("Automatisch antwoord", "Afwezigheidsbericht"),
    "sv": ("Autosvar", "Frånvaromeddelande", "Autorespons"),
    "da": ("Automatisk svar", "Fraværsbesked", "Automatisk besked"),
    "no": ("Automatisk melding",),
    "is": ("Sjálfvirkt svar",),
    "eu": ("Erantzun automatikoa",),
    "cy": ("Ateb awtomatig",),
    "af": ("Outomatiese antwoord",),
    "sq": ("Përgjigje automatike",),
    "mk": ("Автоматски одговор",),
    "be": ("Аўтаматычны адказ",),
    "kk": ("Автоматты жауап",),
    "az": ("Avtomatik cavab",),
    "hy": ("Ավտոմատ պատասխան",),
    "ka": ("ავტომატური პასუხი",),
    "ur": ("خودکار جواب",),
    "ms": ("Balasan automatik",),
    "fil": ("Awtomatikong tugon",),
    "fi": ("Automaattinen vastaus", "Poissaoloilmoitus"),
    "et": ("Automaatvastus",),
    "pl": ("Automatyczna odpowiedź", "Odpowiedź automatyczna"),
    "cs": ("Automatická odpověď",),
    "sk": ("Automatická odpoveď",),
    "hu": ("Automatikus válasz",),
    "ro": ("Răspuns automat",),
    "el": ("Αυτόματη απάντηση",),
    "ru": ("Автоответ", "Автоматический ответ"),
    "uk": ("Автоматична відповідь",),
    "bg": ("Автоматичен отговор",),
    "hr": ("Automatski odgovor",),
    "sl": ("Samodejni odgovor",),
    "lv": ("Automātiskā atbilde",),
    "lt": ("Automatinis atsakymas",),
    "tr": ("Otomatik yanıt",),
    "id": ("Balasan otomatis",),
    "vi": ("Trả lời tự động",),
    "he": ("תשובה אוטומטית",),
    "ar": ("رد تلقائي",),
    "zh": ("自动答复", "自动回复", "自動回覆", "自動答覆"),
    "ja": ("自動返信", "自動応答"),
    "ko": ("자동 회신", "자동 응답"),
    "th": ("ตอบกลับอัตโนมัติ",),
}


@pytest.mark.parametrize("language", SUBJECTS)
def test_a_machine_is_known_by_its_subject_in_every_language(language: str) -> None:
    for words in SUBJECTS[language]:
        for subject in (
            f"{words}: Your report",
            f"{words.upper()} : x",
            f"{words}：x",
            f"[{words}] x",
        ):
            parsed = read(f"From: a@customer.example\nSubject: {subject}\n\nwords\n")
            assert (parsed.automation, parsed.evidence) == ("auto_reply", ("subject",)), subject
        for subject in (f"Re: {words}: x", f"About {words}: x", f"{words}? That is the question"):
            parsed = read(f"From: a@customer.example\nSubject: {subject}\n\nwords\n")
            assert (parsed.automation, parsed.evidence) == ("human", ()), subject


# What is said by machines only, and what an absent person may say herself.
TEXTS = {
    "en": ("This is an automated response. Your ticket is 17.", "I am out of the office until Monday."),
    "de": ("Dies ist eine automatische Antwort.", "Ich bin derzeit nicht im Büro."),
    "fr": ("Ceci est un message automatique.", "Je suis absent jusqu’au lundi."),
    "es": ("Este es un mensaje automático.", "Estoy fuera de la oficina hasta el lunes."),
    "pt": ("Esta é uma mensagem automática.", "Estou fora do escritório até segunda."),
    "it": ("Questa è una risposta automatica.", "Sono fuori ufficio fino a lunedì."),
    "nl": ("Dit is een automatisch bericht.", "Ik ben afwezig tot maandag."),
    "sv": ("Detta är ett automatiskt svar.", "Jag är inte på kontoret."),
    "da": ("Dette er et automatisk svar.", "Jeg er ikke på kontoret."),
    "fi": ("Tämä on automaattinen vastaus.", "Olen lomalla maanantaihin."),
    "pl": ("Ta wiadomość została wygenerowana automatycznie.", "Jestem na urlopie do poniedziałku."),
    "cs": ("Toto je automatická odpověď.", "Jsem na dovolené."),
    "sk": ("Toto je automatická odpoveď.", "Som na dovolenke."),
    "hu": ("Ez egy automatikus üzenet.", "Szabadságon vagyok."),
    "ro": ("Acesta este un mesaj automat.", "Sunt în concediu."),
    "el": ("Αυτό είναι ένα αυτόματο μήνυμα.", "Απουσιάζω μέχρι τη Δευτέρα."),
    "ru": ("Это автоматический ответ.", "Я в отпуске до понедельника."),
    "uk": ("Це автоматична відповідь.", "Я у відпустці."),
    "tr": ("Bu otomatik bir yanıttır.", "Yıllık izindeyim."),
    "id": ("Ini adalah balasan otomatis.", "Saya sedang cuti."),
    "vi": ("Đây là email tự động.", "Tôi đang đi vắng."),
    "he": ("זוהי הודעה אוטומטית.", "אני לא במשרד."),
    "ar": ("هذه رسالة تلقائية.", "أنا خارج المكتب."),
    "zh": ("这是一封自动回复邮件。", "我正在休假。"),
    "ja": ("このメールは自動送信されています。", "本日は不在にしております。"),
    "ko": ("이 메일은 자동으로 발송되었습니다.", "현재 부재중입니다."),
}  # fmt: skip
ROBOT = "From: no-reply@desk.example"
PERSON = "From: Alice <alice@customer.example>"
ANSWER = "\nIn-Reply-To: <1@example.com>"


@pytest.mark.parametrize("language", TEXTS)
def test_words_count_only_with_another_sign(language: str) -> None:
    automatic, absent = TEXTS[language]
    for words in (automatic, absent):
        assert kind(PERSON, words) == ("human", ())
        assert kind(ROBOT, words) == ("auto_reply", ("text", "robot-address"))
        assert kind(f"{PERSON}\nRT-Ticket: 7", words) == ("auto_reply", ("text", "ticket-system"))
    assert kind(f"{PERSON}{ANSWER}", automatic) == ("auto_reply", ("text", "no-quote"))
    # She answers from her telephone, and says herself that she is away.
    assert kind(f"{PERSON}{ANSWER}", absent) == ("human", ())
    assert (
        kind(f"{PERSON}{ANSWER}", f"{absent}\n\nOn Monday, Support wrote:\n> {automatic}")[0]
        == "human"
    )


def test_a_subject_that_says_absence_is_a_sign_for_the_text() -> None:
    found = kind(f"{PERSON}\nSubject: On vacation until May", "I am on vacation. Call Bob.")
    assert found == ("auto_reply", ("text", "away-subject"))
