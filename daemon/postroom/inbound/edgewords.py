"""Words at the edges of a mail, in many languages: the line of a telephone at its end, the warning at its top.

Everything is in lower case; words and phrases are set apart by `|`.
"""

from typing import Final


# A line of a telephone has nothing but these words: one of `SENT` and one of `DEVICES`, or one of `SENT`, one of
# `THINGS` and one of `OWNED`, or one of `GETTING` and one of `APPS`; and `FILLERS`.
SENT: Final = (
    "sent|gesendet|versendet|verschickt|envoyé|envoyée|envoye|provient|enviado|enviada|enviat|inviato|inviata|verzonden"
    "|verstuurd|skickat|skickades|sendt|wysłane|wysłano|odesláno|odoslané|poslané|odoslano|poslano|lähetetty|отправлено"
    "|отправлен|надіслано|відправлено|изпратено|gönderildi|gönderilmiştir|elküldve|küldve|trimis|στάλθηκε|εστάλη|נשלח"
    "|נשלחה|أُرسلت|أرسلت|مرسل|ارسال|gửi|dikirim|ส่งจาก|ส่งมาจาก|saadetud|siųsta|nosūtīts|typed"
)
DEVICES: Final = (
    "iphone|iphonu|ipad|ipod|android|samsung|galaxy|blackberry|huawei|xiaomi|redmi|pixel|nokia|lumia|motorola|htc|oneplus"
    "|oppo|xperia|iqoo|airmail|mailbird|outlook|yahoo|gmail|protonmail|proton|tutanota|tuta|gmx|zoho|windows|thunderbird"
    "|hotmail|mailbox|alcatel|lenovo|asus|realme|octacore|mailspring|superhuman|yandex|яндекс|icloud|айфона|typeapp|bluemail|sparrow"
    "|polymail|missive|fairemail|mymail|maildroid|postbox|wiko|zte|fairphone|infinix|tecno|meizu|macbook|imac"
)
THINGS: Final = (
    "mobile|mobiltelefon|mobiltelefonen|mobil|mobilen|mobilgerät|smartphone|smartphonu|handy|téléphone|móvil|móbil|telefone"
    "|telefono|cellulare|dispositivo|appareil|device|phone|pc|laptop|computer|cell|cellphone|tablet|tablette|смартфона|телефона|puhelimesta|telefonumdan"
    "|telefónu|telefonu|telefon|telefoon|mobiltelefonom|aol|spark|почты"
)
OWNED: Final = (
    "from|via|my|meinem|mon|mi|meu|mio|mijn|min|mit|mitt|mojego|mého|môjho|моего|мого|из|з|с|depuis|desde|dal|från|fra|vanaf"
    "|telefonumdan|puhelimesta|של|שלי|tôi|saya"
)
GETTING: Final = (
    "get|holen|laden|beziehen|obtenez|obtenir|téléchargez|télécharger|obtener|obter|obtenga|ottieni|scarica|download|hämta|hent|pobierz|hanki|skaffa"
    "|získajte|získejte|stáhnout|stáhněte|скачать|скачайте|получить|baixe|baixar|descargar|descarga|downloaden|få|lataa"
)
APPS: Final = "outlook|yahoo|bluemail"
DEVICE_FILLERS: Final = (
    "à|partir|o|för|på|program|dla|systemu|from|sie|sich|vanuit|e|k|t|ru|my|the|a|an|on|with|for|using|via|by|and|in|of|at|mobile|app|apps|secure|email|e-mail|mail|mails|messaging|free"
    "|wireless|verizon|at&t|t-mobile|vodafone|orange|telekom|o2|5g|4g|lte|pro|max|plus|mini|ultra|se|xl|note|edge|tab"
    "|phone|ios|macos|mac|os|de|von|meinem|meiner|mein|mit|der|die|das|dem|den|diese|nachricht|wurde|aus|für|über|unterwegs"
    "|depuis|mon|ma|mes|le|la|l|un|une|pour|sous|avec|par|message|courrier|été|a|desde|mi|el|para|con|por|correo|meu|minha|do"
    "|da|no|dal|dall|dalla|mio|mia|il|per|su|vanaf|mijn|met|voor|op|van|het|een|naar|från|min|mit|mitt|fra|til|med|av|af|via"
    "|i|z|ze|mojego|moje|swojego|telefonu|na|dla|aplikacji|ze|z|zo|môjho|mého|pro|pre|с|со|моего|мого|з|із|от|моя|мое|для"
    "|из|мобильной|мобильного|устройства|umdan|ım|im|dan|den|için|az|om|ról|ról|ről|mról|omról|omrol|em|ul|ului|meu|pe|din"
    "|de|από|το|μου|τη|για|מה|מ|שלי|ה|من|ال|الـ|جهاز|هاتفي|từ|của|tôi|thiết|bị|bằng|dari|saya|menggunakan|จาก|ของฉัน|minu"
    "|mano|ihone|telefonem|telefone|smartphone|cliente|client|kliens|klient|client|10|11|8|7|work|s|ta|sta|n|lla|ssa|hone|meines|verschlüsselt|sicher|gemailt|zu|aol|basic"
)
# The same where words are not set apart: patterns, and one of the devices.
DEVICE_UNSPACED: Final = (
    r"(?:发自|發自|发送自|從|从|來自|来自|寄自)我?的?\s?[\w .\-]{1,25}?(?:傳送|发送|發送|寄出|客户端|手机|手機)?",
    r"[\w .\-]{1,25}?(?:から送信|より送信|から送信されました|からの送信)",
    r"(?:나의|내|제)?\s?[\w .\-]{1,25}?(?:에서|으로|로)\s?(?:보냄|보냈습니다|보낸 메일)",
    r"使用?[\w .\-]{1,25}?(?:发送|發送|傳送|寄出)",
)
UNSPACED_DEVICES: Final = "手机|手機|小米|华为|華為|网易邮箱|邮箱大师|qq邮箱|联想|荣耀|三星|안드로이드|아이폰|갤럭시|スマートフォン|携帯"
# A product's line under a mail; a link may follow.
ADVERTISED: Final = (
    "virus-free.|virenfrei.|sin virus.|libre de virus.|garanti sans virus.|privo di virus.|virusvrij.|livre de vírus."
    "|wolny od wirusów.|virusfri.|без вирусов.|sent with proton mail secure email|secured with tuta mail"
    "|sichere mails mit tuta"
)

# What a gateway puts above mail from outside. The first line begins with one of these, perhaps in brackets or stars …
WARNING: Final = (
    "caution|external|warning|attention|notice|security notice|alert|be careful|think before you click"
    "|this email originated|this message originated|this e-mail originated|this email came from|this message came from"
    "|this email is from an external|this message is from an external|this is an external|you don't often get email from"
    "|some people who received this message don't often get email|achtung|vorsicht|warnung|hinweis|extern"
    "|diese e-mail stammt|diese e-mail kommt|diese nachricht stammt|sie erhalten nicht oft e-mail"
    "|sie erhalten nicht oft eine e-mail|sie erhalten nicht häufig e-mail|prudence|avertissement|expéditeur externe|externe"
    "|ce courriel provient|ce message provient|cet e-mail provient|vous n'obtenez pas souvent|vous ne recevez pas souvent"
    "|vous n’obtenez pas souvent|precaución|advertencia|atención|aviso|correo externo|este correo|este mensaje|externo"
    "|no suele recibir|cuidado|atenção|e-mail externo|este e-mail|esta mensagem|você não costuma receber|não costuma receber"
    "|attenzione|avviso|esterno|questa e-mail|questa email|questo messaggio|non si ricevono spesso|non ricevi spesso|let op"
    "|waarschuwing|pas op|deze e-mail|dit bericht|u ontvangt niet vaak|varning|varsamhet|obs|extern avsändare|detta e-post"
    "|det här e-post|det här meddelandet|du får inte ofta|advarsel|forsigtig|bemærk|ekstern|denne e-mail|denne mail"
    "|denne e-posten|du får ikke ofte|vær forsiktig|uwaga|ostrzeżenie|ta wiadomość|zewnętrzny|wiadomość zewnętrzna"
    "|nie otrzymujesz często|upozornění|varování|tento e-mail|tato zpráva|externí|upozornenie|táto správa|внимание"
    "|предупреждение|осторожно|это письмо|внешнее письмо|внешний|увага|цей лист|зовнішній|varoitus|huomio|tämä viesti"
    "|tämä sähköposti|ulkoinen|dikkat|uyarı|bu e-posta|dış|figyelem|ez az e-mail|külső|atenție|atenţie|acest e-mail|προσοχή"
    "|זהירות|שים לב|تحذير|تنبيه|注意|警告|外部|【外部|此邮件|此電子郵件|このメール|このメッセージ|社外|주의|경고|외부|이 메일은"
    "|cảnh báo|lưu ý"
)
# … and the warning has one of these …
OUTSIDE: Final = (
    "external email|external e-mail|external mail|external message|external sender|external source|external address"
    "|external organi|external party|from external|from an external|from outside|outside of|outside the|outside your"
    "|outside our|originated|don't often get email|externen absender|externer absender|externe e-mail|externe mail|von extern|außerhalb|nicht oft|nicht häufig"
    "|expéditeur externe|externe à|source externe|de l'extérieur|de l’extérieur|en dehors|pas souvent|remitente externo"
    "|correo externo|origen externo|del exterior|fuera de|no suele|remetente externo|e-mail externo|fora da|não costuma"
    "|mittente esterno|esterno all|dall'esterno|dall’esterno|non si ricevono spesso|non ricevi spesso|van buiten|externe afzender|extern e-mail|niet vaak|utanför|utifrån|inte ofta|udefra|uden for"
    "|utenfor|utenfra|ikke ofte|zewnętrz|spoza|nie otrzymujesz|mimo|vnější|externí|извне|внешн|за пределами|ззовні|зовнішн"
    "|ulkopuol|ulkoi|dışın|harici|kívül|külső|din afara|expeditor extern|εξωτερικ|εκτός|מחוץ|חיצוני|خارج|外部|社外|组织外|組織外|외부|bên ngoài"
)
# … and one of these, or it is of one line in brackets.
ADVICE: Final = (
    "click|link|attachment|open|sender|recogni|learn why|trust|safe|phish|verify|respond|suspicious|klick|anhang|anhäng"
    "|öffnen|absender|erfahren sie|warum|cliqu|lien|pièce|expéditeur|découvrez|pourquoi|clic|enlace|adjunto|remitente"
    "|obtenga|vínculo|clique|anexo|remetente|saiba por|cliccare|allegat|mittente|scopri|klik|koppeling|bijlage|afzender"
    "|ontdek|klicka|länk|bifog|avsändare|läs om|vedhæft|vedlegg|afsender|avsender|få mere|finn ut|klika|załącznik|nadawc"
    "|odkaz|příloh|prílo|odesílatel|odosielat|ссыл|вложен|отправител|посилан|вкладен|відправник|linkk|liit|lähettä|bağlantı"
    "|tıkla|gönderen|kattints|mellékle|feladó|atașament|expeditor|συνδέσμ|συνημμέν|αποστολέα|קישור|שולח|رابط|روابط|مرسل"
    "|点击|链接|附件|发件人|點擊|連結|寄件者|リンク|添付|送信者|クリック|링크|첨부|발신|liên kết|người gửi|organiz|organis"
)
