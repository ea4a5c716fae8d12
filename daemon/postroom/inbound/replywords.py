"""Words of mail programs in many languages: what stands above a quotation, in a header block, under a mail.

Words and phrases are set apart by `|`.
"""

from typing import Final


# "On … she wrote:". Whole words, lower case.
WROTE: Final = (
    "wrote|writes|schrieb|écrit|écrivait|escribió|escribio|escreveu|scritto|schreef|geschreven|skrev"
    "|skrifaði|napisał|napisał(a)|napisała|napisal|napsal(a)|napsal|napísal|написал|написал(а)"
    "|написала|написав|пише|пишет|kirjoitti|yazdı|írta|scris|έγραψε|menulis|viết|kirjutas|rašė"
    "|rakstīja|написа|napisao|написао|כתב|كتب"
)
# The same where words are not set apart.
WROTE_UNSPACED: Final = "写道|寫道|のメール|が書きました|さんは書きました|작성|เขียนว่า"
# How such a line begins.
ON: Final = "on|le|am|el|em|il|op|den|dnia|w|dne|v|på|d.|a|at|у|в"
# A header block begins with one of these, and has one of each of the others.
FROM: Final = (
    "from|von|de|da|van|från|fra|od|от|від|发件人|寄件者|差出人|보낸사람|보낸|사람|lähettäjä|gönderen|kimden|feladó"
    "|από|pengirim"
)
SENT: Final = (
    "sent|date|gesendet|datum|envoyé|fecha|enviado|enviada|data|inviato|verzonden|skickat|sendt|dato"
    "|wysłano|odesláno|дата|отправлено|надіслано|发送时间|日期|送信日時|날짜|보낸날짜|lähetetty|päivä|gönderildi"
    "|tarih|elküldve"
)
TO: Final = "to|an|à|para|a|per|aan|till|til|do|komu|кому|收件人|宛先|받는사람|받는|vastaanottaja|kime|alıcı|címzett|cc"
SUBJECT: Final = (
    "subject|betreff|objet|asunto|assunto|oggetto|onderwerp|ämne|emne|temat|předmět|predmet|тема|主题"
    "|主旨|件名|제목|aihe|konu|tárgy|θέμα"
)
# "-----Original Message-----"
ORIGINAL: Final = (
    "original message|original appointment|ursprüngliche nachricht|originalnachricht"
    "|message d'origine|message original|mensaje original|mensagem original|messaggio originale"
    "|oorspronkelijk bericht|originalmeddelande|ursprungligt meddelande|oprindelig meddelelse"
    "|opprinnelig melding|wiadomość oryginalna|původní zpráva|исходное сообщение|вихідне повідомлення"
    "|alkuperäinen viesti|orijinal mesaj|eredeti üzenet|原始邮件|原始郵件|元のメッセージ|원본 메시지|원본 메일"
)
FORWARDED: Final = (
    "forwarded message|weitergeleitete nachricht|message transféré|mensaje reenviado"
    "|mensagem encaminhada|messaggio inoltrato|doorgestuurd bericht|vidarebefordrat|videresendt"
    "|wiadomość przekazana|пересылаемое сообщение|пересланное сообщение|välitetty viesti"
    "|iletilen mesaj|továbbított üzenet|转发的邮件|转发邮件|轉寄郵件|転送メッセージ|전달된 메시지"
)
# The same without dashes around it.
BEGIN_FORWARDED: Final = (
    "begin forwarded message:|anfang der weitergeleiteten nachricht:|début du message transféré"
    "|inicio del mensaje reenviado:|início da mensagem encaminhada:|inizio messaggio inoltrato:"
    "|begin doorgestuurd bericht:"
)
# The last line of a telephone's mail: one of these begins it, and one of the devices is in it.
SENT_FROM: Final = (
    "sent|get|envoyé|envoye|von|gesendet|diese|enviado|enviada|inviato|verzonden|verstuurd|skickat"
    "|sendt|wysłane|отправлено|надіслано|发自|發自|從我的"
)
DEVICES: Final = (
    "iphone|ipad|ipod|android|samsung|galaxy|blackberry|outlook|yahoo|windows|huawei|xiaomi|pixel"
    "|airmail|mailbird|mobile|mobiltelefon|mobilgerät|smartphone|handy"
)
# Subjects of reports.
BOUNCED: Final = (
    "undeliver|not deliver|delivery status|delivery fail|delivery problem|delivery has|returned mail"
    "|failure notice|mail delivery|delayed|unzustellbar|non remis|no entregad|non recapit"
    "|onbestelbaar|niet bezorgd|недоставлен|не доставлено|退信"
)
# What a report says of a mail that is still tried.
STILL_TRIED: Final = (
    "delayed|delivery delay|could not send message for past|could not send mail for past|could not be delivered for|still being retried"
    "|will be retried|will retry|will continue to|will keep trying|continue trying|warning message only"
    "|no action is required|not yet been delivered|has not yet|temporar|verzögert|wird weiterhin versucht"
    "|retardé|retrasad|ritardo|vertraagd"
)
