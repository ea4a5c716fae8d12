"""Subjects as a weak sign of a thread (CASES E07): folded, without what programs and people put in front. Pure.

Only from the same peer, within 30 days, and where the subject itself says that it answers something: else two people
who ask "Question" would share a conversation.
"""

import re
from typing import Final
from unicodedata import normalize

from postroom.core.words import shown


_LONGEST: Final = 200
_ANSWER_MOST: Final = 996  # with "Re: " the 1,000 characters that a job may have
_MOST: Final = 40  # "Re: Re: Re: …" ends somewhere

# As programs write them, by language; a mail in one often answers in another.
_REPLY: Final = (
    "re res rif rv r antw aw antwort sv svar vs odp odpowiedz odpowiedź vá válasz ynt yanıt bls atb tl "
    "ha на отв ответ απ σχετ השב תגובה رد 回复 回覆 答复 答覆 返信 回信 회신 답장"
)
_FORWARD: Final = (
    "fw fwd wg tr enc i rvp pd vl vb vbs doorst doorsturen videresend videresendt vidarebefordrat lähetetty"
    " továbbítás ilt ynl trs fs пересл προώθ πρθ הועבר 转发 轉寄 转寄 転送 전달"
)
# What programs that answer for somebody put there; nobody else begins a subject so.
AUTOMATIC: Final = (
    "automatic reply|automated reply|automatic response|automated response|automatic message|auto reply"
    "|auto-reply|autoreply|auto response|auto-response|autoresponse|auto responder|autoresponder"
    "|out of office|out of office autoreply|out of office auto-reply|out of office reply"
    "|out of office response|out of office message|out-of-office|out of the office|ooo|vacation reply"
    "|vacation response|away message|automatische antwort|automatische nachricht|abwesenheitsnotiz"
    "|abwesenheitsmeldung|abwesenheitsnachricht|abwesend|réponse automatique|réponse automatisée"
    "|message d'absence|absence du bureau|réponse automatique d'absence|respuesta automática"
    "|respuesta automatica|fuera de la oficina|resposta automática|resposta automatica"
    "|resposta automàtica|ausência temporária|ausência do escritório|risposta automatica"
    "|fuori sede|fuori ufficio|automatisch antwoord|automatisch bericht|afwezigheidsbericht"
    "|automatische beantwoording|autosvar|automatiskt svar|frånvaromeddelande|automatisk svar"
    "|fraværsmelding|fraværsassistent|fraværsbesked|automaattinen vastaus|poissaoloilmoitus|automaatvastus"
    "|odpowiedź automatyczna|automatyczna odpowiedź|autoodpowiedź|automatická odpověď"
    "|automatická odpoveď|automatikus válasz|automatikus üzenet|răspuns automat|αυτόματη απάντηση"
    "|автоответ|автоматический ответ|автоматическое уведомление|автоматична відповідь"
    "|автоматичен отговор|automatski odgovor|аутоматски одговор|samodejni odgovor|automātiskā atbilde"
    "|automatinis atsakymas|otomatik yanıt|otomatik cevap|balasan otomatis|jawaban otomatis"
    "|trả lời tự động|תשובה אוטומטית|מענה אוטומטי|رد تلقائي|الرد التلقائي|پاسخ خودکار"
    "|autorespons|auto respons|automatisierte antwort|auto-antwort|réponse auto|message automatique"
    "|auto-réponse|autorespuesta|mensaje automático|mensagem automática|messaggio automatico"
    "|wiadomość automatyczna|automatická zpráva|automatisk besked|automatisk melding"
    "|автоматическое сообщение|аўтаматычны адказ|автоматски одговор|автоматты жауап|sjálfvirkt svar"
    "|erantzun automatikoa|ateb awtomatig|balasan automatik|awtomatikong tugon|outomatiese antwoord"
    "|avtomatik cavab|përgjigje automatike|ավտոմատ պատասխան|ავტომატური პასუხი|خودکار جواب|自動答覆"
    "|स्वचालित उत्तर|自动答复|自动回复|自動回覆|自動返信|自動応答|자동 회신|자동 응답|ตอบกลับอัตโนมัติ|การตอบกลับอัตโนมัติ"
)
_COUNT: Final = r"\s?(?:[\[(^*]\s?\d{1,3}\s?[\])]?\s?)?[:：]\s*"


def _words(lists: str) -> str:
    return "|".join(re.escape(word) for word in sorted(set(lists.split()), key=len, reverse=True))


_PREFIX: Final = re.compile(
    rf"(?:{AUTOMATIC}|{_words(f'{_REPLY} {_FORWARD}')}){_COUNT}", re.IGNORECASE
)
_ANSWERS: Final = re.compile(rf"(?:{_words(_REPLY)}){_COUNT}", re.IGNORECASE)
_FORWARDS: Final = re.compile(rf"(?:{_words(_FORWARD)}){_COUNT}", re.IGNORECASE)
_TAG: Final = re.compile(r"\[[^\[\]]{1,60}\]\s*")
_BLANKS: Final = re.compile(r"\s+")


def subject_key(subject: str) -> str:
    """What equal subjects have in common, '' when nothing is left."""
    return _stripped(subject)[0]


def answers_something(subject: str) -> bool:
    """Whether a reply or forward prefix stands in front."""
    return _stripped(subject)[1]


def forwards_something(subject: str) -> bool:
    """Whether the prefix that stands first is one of a forward."""
    rest = _BLANKS.sub(" ", subject[: 5 * _LONGEST]).strip()
    found = _TAG.match(rest)
    return _FORWARDS.match(rest, found.end() if found else 0) is not None


def reply_subject(subject: str) -> str:
    """The subject of an answer: `Re:` once, in place of all reply prefixes that stand in front; forwards stay."""
    rest = shown(subject, _ANSWER_MOST).strip()
    for _ in range(_MOST):
        found = _ANSWERS.match(rest)
        if found is None:
            break
        rest = rest[found.end() :]
    return f"Re: {rest}".strip()


def _stripped(subject: str) -> tuple[str, bool]:
    rest = _BLANKS.sub(" ", normalize("NFKC", subject[: 5 * _LONGEST])).strip()
    is_answer = False
    for _ in range(_MOST):
        found = _PREFIX.match(rest)
        is_answer = is_answer or found is not None
        found = found or _TAG.match(rest)
        if found is None:
            break
        rest = rest[found.end() :]
    return rest.casefold()[:_LONGEST].strip(), is_answer
