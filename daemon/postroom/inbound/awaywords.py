"""Words of machines that answer for somebody, in many languages: in subjects, and at the beginning of what they write.

What they put before the subject that they answer is `core.subject.AUTOMATIC`.

Words and phrases are set apart by `|`. Apostrophes are straight, letters small: the text is folded so before it is looked at.
"""

from typing import Final


# Subjects of such answers, where no person writes (the null reverse-path), or so where other signs say it.
AWAY: Final = (
    "out of office|out of the office|i am away|i'm away|away from|on vacation|on holiday|on leave|abwesenheit|abwesend"
    "|nicht im büro|nicht im haus|im urlaub|absence|absent|en congé|fuera de la oficina"
    "|de vacaciones|ausencia|ausência|de férias|fuori ufficio|fuori sede|assente|afwezig"
    "|met vakantie|frånvaro|semester|fravær|ferie|poissa|lomalla|nieobecn|urlop|nepřítomn"
    "|dovolen|szabadság|izin|отпуск|отсутств|відпустк|不在|外出|休暇|休假|부재|휴가"
)
# What only machines say of what they write.
AUTOMATIC: Final = (
    "this is an automatic|this is an automated|this is an auto-|this message was automatically generated"
    "|this message was generated automatically|this email was sent automatically"
    "|this e-mail was sent automatically|this email is automatically generated"
    "|this e-mail is automatically generated|automatically generated response"
    "|automatically generated message|please do not reply to this|do not reply to this email"
    "|do not reply to this e-mail|do not reply to this message|this mailbox is not monitored"
    "|this inbox is not monitored|this is a no-reply|replies to this email are not"
    "|your request has been received|we have received your request|your ticket has been created"
    "|a ticket has been opened|a support ticket has been"
    "|dies ist eine automatisch|diese nachricht wurde automatisch|diese e-mail wurde automatisch"
    "|diese mail wurde automatisch|bitte antworten sie nicht auf diese"
    "|ceci est un message automatique|ceci est une réponse automatique|ce message est généré"
    "|ce message a été généré|merci de ne pas répondre|ne pas répondre à ce"
    "|este es un mensaje automático|esta es una respuesta automática|este mensaje ha sido generado"
    "|no responda a este|por favor, no responda|por favor no responda"
    "|esta é uma mensagem automática|esta é uma resposta automática|este é um e-mail automático"
    "|não responda a este|não responda este|questa è una risposta automatica"
    "|questo è un messaggio automatico|messaggio generato automaticamente|si prega di non rispondere"
    "|dit is een automatisch|deze e-mail is automatisch|dit bericht is automatisch"
    "|niet op dit bericht te antwoorden|detta är ett automatiskt|detta är ett autosvar"
    "|detta mail skickas automatiskt|dette er en automatisk|dette er et automatisk|dette er et autosvar"
    "|tämä on automaattinen|älä vastaa tähän|ta wiadomość została wygenerowana automatycznie"
    "|wiadomość wygenerowana automatycznie|to jest automatyczna|prosimy nie odpowiadać"
    "|toto je automatick|tato zpráva byla vygenerována automaticky|neodpovídejte na t"
    "|neodpovedajte na t|ez egy automatikus|ez egy automatikusan|kérjük, ne válaszoljon"
    "|acesta este un mesaj automat|acesta este un răspuns automat|vă rugăm să nu răspundeți"
    "|αυτό είναι ένα αυτόματο|это автоматическ|это автоответ|это сообщение создано автоматически"
    "|не отвечайте на это|письмо сформировано автоматически|це автоматичн|не відповідайте на"
    "|това е автоматич|ovo je automatsk|ova poruka je automatski|to je samodejn"
    "|see on automaat|šis ir automātisk|tai automatin|bu otomatik|bu bir otomatik|lütfen bu e-posta"
    "|ini adalah balasan otomatis|ini adalah pesan otomatis|đây là thư tự động|đây là email tự động"
    "|זוהי הודעה אוטומטית|זהו מענה אוטומטי|هذه رسالة تلقائية|هذا رد تلقائي|此邮件为系统自动|这是一封自动|此郵件為系統自動"
    "|這是自動|本邮件由系统自动|請勿回覆此|请勿回复此|このメールは自動|本メールは自動|これは自動|自動送信されています|이 메일은 자동|본 메일은 자동"
    "|발신 전용|อีเมลนี้เป็นการตอบกลับอัตโนมัติ|यह एक स्वचालित"
)
# What an absent person has her mail program say; a person may say it as well.
ABSENT: Final = (
    "i am out of the office|i'm out of the office|i am out of office|i'm out of office|i am currently out"
    "|i'm currently out|i will be out of|i'll be out of|i am away|i'm away|i am currently away|i am on vacation|i'm on vacation"
    "|i am on holiday|i'm on holiday|i am on annual leave|i am on leave|i'm on leave"
    "|i am on parental leave|i am on maternity leave|currently out of the office|currently out of office"
    "|limited access to my email|limited access to email|limited access to e-mail"
    "|no access to my email|no longer with the company|no longer works|no longer employed"
    "|ich bin derzeit nicht|ich bin zurzeit nicht|ich bin zur zeit nicht|ich bin momentan nicht"
    "|ich bin im urlaub|ich bin bis|ich bin ab dem|ich bin vom|ich bin nicht im büro|ich bin nicht im haus"
    "|ich bin abwesend|derzeit nicht im büro|bin ich nicht im büro|bin ich nicht erreichbar"
    "|je suis absent|je suis actuellement|je suis en congé|je suis en vacances|je serai absent"
    "|actuellement absent|estoy fuera de la oficina|me encuentro fuera|estaré fuera|estoy de vacaciones"
    "|estoy ausente|no me encuentro|estou fora do escritório|estou ausente|estou de férias"
    "|estarei ausente|encontro-me ausente|sono fuori ufficio|sono assente|sono in ferie|sarò assente"
    "|sarò fuori|attualmente fuori|ik ben afwezig|ik ben momenteel|ik ben niet aanwezig|ik ben op vakantie"
    "|ik ben niet op kantoor|ben ik afwezig|jag är inte på kontoret|jag har semester|jag är på semester"
    "|jag är frånvarande|jag är tillbaka|jeg er ikke på kontoret|jeg er på ferie|jeg har ferie"
    "|jeg er ikke til stede|jeg er fraværende|jeg er for tiden|jeg er tilbage|olen poissa|olen lomalla"
    "|olen vuosilomalla|jestem na urlopie|jestem nieobecn|przebywam na urlopie|jestem poza biurem"
    "|jsem na dovolené|jsem mimo kancelář|nejsem v kanceláři|nejsem přítom|som na dovolenke"
    "|som mimo kancelárie|nem vagyok az irodában|szabadságon vagyok|házon kívül vagyok"
    "|sunt în concediu|nu sunt la birou|λείπω|βρίσκομαι σε άδεια|απουσιάζω|я в отпуске|нахожусь в отпуске"
    "|я отсутствую|меня не будет|я у відпустці|перебуваю у відпустці|в отпуск съм|отсъствам"
    "|nisam u uredu|na godišnjem sam|na godišnjem odmoru|nisem v pisarni|sem na dopustu|olen puhkusel"
    "|esmu atvaļinājumā|atostogauju|izindeyim|ofis dışındayım|yıllık izindeyim|saya sedang cuti"
    "|saya sedang tidak|tôi đang đi vắng|tôi đang nghỉ|אני לא במשרד|אני בחופשה|איני נמצא|أنا خارج المكتب"
    "|أنا في إجازة|我正在休假|我目前不在|我现在不在|我現在不在|我不在办公室|我外出|不在にして|休暇をいただ|休暇中|外出しており"
    "|현재 부재|휴가 중|부재중|ขณะนี้ฉันไม่อยู่|อยู่ระหว่างลาพักร้อน|मैं कार्यालय से बाहर"
)
# How such an answer begins, before it says so.
THANKS: Final = (
    "thank you for your|thanks for your|thank you for contacting|thank you for reaching out|vielen dank für ihre"
    "|vielen dank für deine|danke für ihre|danke für deine|merci pour votre|merci de votre|gracias por su"
    "|gracias por tu|gracias por contactar|obrigado pel|obrigada pel|grazie per|bedankt voor|dank voor"
    "|tack för ditt|tack för din|tak for din|takk for din|kiitos viesti|kiitos sähköposti|dziękuję za"
    "|dziękujemy za|děkuji za|děkujeme za|ďakujem za|köszönöm|köszönjük|vă mulțumesc|mulțumim|ευχαριστώ"
    "|спасибо за|благодарим|дякую за|благодаря|hvala na|hvala za|aitäh|paldies par|ačiū|teşekkür"
    "|terima kasih|cảm ơn|תודה|شكرا|شكراً|感谢您|感謝您|谢谢您|お問い合わせ|ご連絡|メールをいただ|감사합니다|ขอบคุณ|धन्यवाद"
)
