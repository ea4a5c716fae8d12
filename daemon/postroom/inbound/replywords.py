"""Words of answers that programs write, and of reports, in many languages. (What stands around a quotation: `quotewords`.)

Words and phrases are set apart by `|`.
"""

from typing import Final


# What mail programs put before the subject that they answer; nobody else begins one so.
AWAY_PREFIX: Final = (
    "automatic reply|auto reply|auto-reply|autoreply|auto response|auto-response|autoresponse"
    "|automated response|automated reply|automatische antwort|réponse automatique"
    "|respuesta automática|resposta automática|risposta automatica|automatisch antwoord|autosvar"
    "|automatiskt svar|automaattinen vastaus|odpowiedź automatyczna|automatická odpověď|автоответ"
    "|автоматический ответ|otomatik yanıt|自动答复|自動返信|자동 회신"
    "|out of office|out of office autoreply|out of office reply|out-of-office|out of the office"
    "|abwesenheitsnotiz|automatisk svar|resposta automàtica|automatyczna odpowiedź"
    "|automatická odpoveď|automatikus válasz|răspuns automat|αυτόματη απάντηση"
    "|автоматична відповідь|автоматичен отговор|automatski odgovor|samodejni odgovor"
    "|automaatvastus|automātiskā atbilde|automatinis atsakymas|balasan otomatis|trả lời tự động"
    "|תשובה אוטומטית|رد تلقائي|自动回复|自動回覆|自動応答|자동 응답|ตอบกลับอัตโนมัติ"
)
# Subjects of such answers, where no person writes (the null reverse-path).
AWAY: Final = (
    "out of office|out of the office|away from|on vacation|on holiday|abwesenheit|abwesend"
    "|nicht im büro|nicht im haus|absence|absent|fuera de la oficina|ausencia|fuori ufficio|assente"
    "|afwezig|frånvaro|fravær|poissa|nieobecn|nepřítomn|отпуск|отсутств|不在|外出"
)
# Subjects of reports.
BOUNCED: Final = (
    "undeliver|not deliver|delivery status|delivery fail|delivery problem|delivery has|returned mail"
    "|failure notice|mail delivery|delayed|unzustellbar|non remis|no entregad|non recapit"
    "|onbestelbaar|niet bezorgd|недоставлен|не доставлено|退信"
)
# What stands in the text of reports.
REPORTS: Final = (
    "not be delivered|not deliver|undeliver|delivery failed|delivery failure|delivery error|unable to deliver"
    "|trouble delivering|error message below|returned permanent errors|was not relayed|mailbox is full"
    "|permanent error|fatal error|transcript of session|送信できませんでした|配信できませんでした|nicht zugestellt"
    "|pas pu être|no se ha podido entregar|no se pudo entregar|impossibile recapitare|não pôde ser entregue"
    "|не может быть доставлено|не удалось доставить|are not a member of this mailing list"
)
# What a report says of a mail that is still tried.
STILL_TRIED: Final = (
    "delayed|delivery delay|could not send message for past|could not send mail for past|could not be delivered for|still being retried"
    "|will be retried|will retry|will continue to|will keep trying|continue trying|warning message only"
    "|no action is required|not yet been delivered|has not yet|temporar|verzögert|wird weiterhin versucht"
    "|retardé|retrasad|ritardo|vertraagd"
)
