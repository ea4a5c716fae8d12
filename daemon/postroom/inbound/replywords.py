"""Words of reports that programs write, in many languages. (Of answers: `awaywords`; around a quotation: `quotewords`.)

Words and phrases are set apart by `|`.
"""

from typing import Final


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
