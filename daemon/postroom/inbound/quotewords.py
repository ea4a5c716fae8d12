"""Words of mail programs in many languages: what stands above a quotation, in a header block, at the edges of a mail.

Everything is in lower case; words and phrases are set apart by `|`.
"""

from typing import Final


def phrases(words: str) -> tuple[str, ...]:
    """The words of such a list, longest first."""
    return tuple(sorted(words.split("|"), key=len, reverse=True))


# "On … she wrote:", where the name or the date may also stand behind the verb.
WROTE_EARLY: Final = (
    "schrieb|schreef|skrev|skrifaði|kirjoitti|yazdı|írta|ezt írta|kirjutas|napsal|napsal(a)|napísal|napísal(a)|napsala"
    "|napisał|napisał(a)|napisala|napisao je|wrote on|rašė|rakstīja|a scris|написал|написав|сообщил"
)
# The same, where nothing but a colon follows.
WROTE: Final = (
    "wrote|writes|écrit|écrivait|escribió|escribio|escreveu|scritto|geschreven|napisała|pisze|píše"
    "|написал(а)|написала|пише|пишет|написа|написао|написао је|napisao|napisala|yazdı|yazmış|scris|έγραψε|menulis"
    "|viết|đã viết|va escriure|כתב|כתב/ה|كتب|بواسطة|نوشت|rašė|ha scritto|skrev følgende|skrev följande"
)
# The same where words are not set apart.
WROTE_UNSPACED: Final = "写道|寫道|のメール|が書きました|さんは書きました|さんが書きました|のメッセージ|님이 작성|님이 씀|작성|เขียนว่า|เขียน"
# The verb where a name stands in front of it and the date behind.
NAME_FIRST: Final = (
    "wrote on|wrote at|schrieb am|kirjoitti|skrev den|schreef op|a écrit le|escribió el|escreveu em|ha scritto il"
    "|napisał(a) dnia|napisał(a)|napsal(a) dne|napsal dne|napísal(a) dňa|написал(а)|написал|napisao je|a scris pe|a scris la"
)
# How such a line begins where the name follows.
WRITTEN_BY: Final = "wiadomość napisana przez"
# How such a line begins.
ON: Final = (
    "on|le|am|el|em|il|op|den|dnia|w dniu|dne|dňa|v|på|d.|у|в|во|на|în|pe|στις|la|vào|vào lúc|pada|pada tanggal|w|ke"
    "|בתאריך|ב|في|بتاريخ|เมื่อ|u|kuupäev|em|no dia|il giorno|a|tarihinde|lúc|ngày|dana"
)
WEEKDAYS: Final = (
    "mon|tue|wed|thu|fri|sat|sun|lun|mar|mer|jeu|ven|sam|dim|mié|jue|vie|sáb|dom|seg|ter|qua|qui|sex|gio|montag|dienst"
    "|mittw|donner|freitag|samst|sonnt|maan|dins|woe|don|vri|zat|zon|mån|tis|ons|tor|fre|lör|sön|man|tir|lør|søn|maana"
    "|tiis|kesk|pon|wto|śro|czw|pią|sob|nie|niedz|út|stř|čt|pát|ned|uto|str|štv|pia|пон|вто|сре|чет|пят|суб|вос|пнд"
    "|вів|сер|пʼя|нед|pzt|sal|çar|per|cum|cmt|paz|joi|vin|sâm|dum|δευ|τρί|τετ|πέμ|παρ|σάβ|κυρ|hét|ked|sze|csü|pén"
)
WEEKDAYS_SHORT: Final = (
    "mo|di|mi|do|fr|sa|so|ma|wo|vr|za|zo|ti|ke|to|pe|la|su|wt|śr|pt|nd|po|út|st|čt|pá|ne|ut|št|pi|пн|вт|ср|чт|пт|сб"
    "|вс|нд|h|k|cs|p|v|sze|szo"
)
# Who stands before the verb of a sentence, but never of such a line.
PRONOUNS: Final = (
    "i|you|we|he|she|they|it|who|also|just|once|ich|du|er|sie|wir|ihr|je|tu|il|elle|nous|vous|ils|on|yo|tú|él|ella|usted"
    "|nosotros|eu|você|ele|ela|nós|io|lui|lei|noi|voi|ik|jij|je|hij|zij|wij|jeg|han|hun|vi|jag|hon|minä|sinä|hän|ja|ty"
    "|on|ona|já|я|ты|вы|он|она|мы|ви|він|вона|ми|ben|sen|o|biz|siz|én|te|ő"
)
QUOTING: Final = (
    "quoting|zitat von|citando|citando a|citat|quoted from|citation de|citazione|citaat van"
)

# Labels of header blocks.
FROM: Final = (
    "from|von|de|de la|da|van|från|fra|od|от|від|发件人|發件人|寄件者|寄件人|差出人|送信者|보낸사람|보낸 사람|보낸이|보낸 이"
    "|lähettäjä|gönderen|kimden|kimden gönderildi|feladó|από|pengirim|dari|מאת|من|expéditeur|remitente|absender|afzender"
    "|avsändare|mittente|remetente|nadawca|odesílatel|odosielateľ|expeditor|отправитель|відправник|från|từ|người gửi"
    "|จาก|desde|saatja|nuo|pošiljatelj"
)
SENT: Final = (
    "sent|date|gesendet|datum|gesendet am|envoyé|envoyé le|date d'envoi|fecha|enviado|enviada|enviado el|enviada em|data"
    "|inviato|data invio|verzonden|skickat|skickat den|sendt|dato|wysłano|data wysłania|odesláno|odoslané|poslané|дата"
    "|отправлено|надіслано|发送时间|發送時間|发送日期|日期|寄件日期|已傳送|傳送時間|时间|送信日時|日時|日付|날짜|보낸날짜"
    "|보낸 날짜|보낸날|보낸 시간|lähetetty|päivä|päiväys|päivämäärä|gönderildi|gönderme tarihi|tarih|elküldve|dátum|küldve"
    "|ημερομηνία|στάλθηκε|στις|נשלח|תאריך|تاريخ الإرسال|تم الإرسال|التاريخ|ngày|đã gửi|gửi|วันที่|ส่ง|ส่งเมื่อ|tanggal"
    "|dikirim|trimis|saadetud|poslano|sent at|time"
)
TO: Final = (
    "to|an|à|para|a|per|aan|till|til|do|komu|pro|pre|кому|收件人|收件者|宛先|받는사람|받는 사람|받는이|받는 이|수신"
    "|vastaanottaja|kime|alıcı|címzett|προς|אל|ל|إلى|đến|tới|người nhận|ถึง|kepada|către|empfänger|destinataire|destinatario"
    "|destinatário|ontvanger|mottagare|modtager|mottaker|odbiorca|adresát|príjemca|saaja|za|prima"
)
COPY: Final = (
    "cc|kopie|kopie an|copie|copie à|copia|cópia|kopia|kopi|kopio|dw|do wiadomości|копия|копія|抄送|副本|참조|bilgi"
    "|másolatot kap|κοιν|עותק|נسخة|reply-to|antwort an|répondre à|importance|wichtigkeit|priorität|attachments|anlagen"
)
SUBJECT: Final = (
    "subject|betreff|betrifft|objet|sujet|asunto|assunto|oggetto|onderwerp|ämne|emne|temat|předmět|predmet|тема|主题|主題"
    "|主旨|件名|제목|aihe|konu|tárgy|θέμα|נושא|الموضوع|subiect|chủ đề|tiêu đề|เรื่อง|หัวเรื่อง|subjek|perihal|assumpte|teema"
    "|naslov|zadeva"
)

# "-----Original Message-----"
ORIGINAL: Final = (
    "original message|original appointment|original email|original e-mail|original mail|reply message|ursprüngliche nachricht"
    "|original-nachricht|originalnachricht|originale nachricht|antwort nachricht|ursprüngliche mail|ursprüngliche e-mail|ursprünglicher termin"
    "|message d'origine|message d’origine|message original|message initial|message d'origine envoyé|mensaje original"
    "|mensagem original|messaggio originale|messaggio original|oorspronkelijk bericht|origineel bericht|originalmeddelande"
    "|ursprungligt meddelande|oprindelig meddelelse|original meddelelse|oprindelig besked|oprindelig mail|opprinnelig e-post"
    "|ursprungligt mejl|opprinnelig melding|original melding"
    "|wiadomość oryginalna|oryginalna wiadomość|původní zpráva|původní e-mail|pôvodná správa|исходное сообщение"
    "|оригинальное сообщение|вихідне повідомлення|оригінальне повідомлення|alkuperäinen viesti|orijinal mesaj|özgün ileti"
    "|eredeti üzenet|mesaj original|mesajul original|αρχικό μήνυμα|הודעה מקורית|الرسالة الأصلية|原始邮件"
    "|原始郵件|邮件原件|原邮件|原郵件|元のメッセージ|オリジナルメッセージ|원본 메시지|원본 메일|원본메시지|tin nhắn gốc|thư gốc"
    "|ข้อความต้นฉบับ|pesan asli|missatge original|algne kiri|izvirno sporočilo|originalna poruka"
)
# The same without dashes around it, which a program's name proves.
PROCESSED: Final = "original message processed by david"
FORWARDED: Final = (
    "forwarded message|forwarded by|forwarded email|original forwarded message|weitergeleitete nachricht"
    "|weitergeleitet von|message transféré|message transmis|transféré par|mensaje reenviado|mensagem encaminhada"
    "|mensagem reencaminhada|messaggio inoltrato|doorgestuurd bericht|vidarebefordrat meddelande|vidarebefordrat mail"
    "|vidarebefordrat|videresendt meddelelse|videresendt melding|videresendt|wiadomość przekazana|przekazana wiadomość"
    "|treść przekazanej wiadomości|přeposlaná zpráva|preposlaná správa|пересылаемое сообщение|пересланное сообщение"
    "|переслане повідомлення|начало переадресованного сообщения|välitetty viesti|edelleen lähetetty viesti|iletilen mesaj"
    "|yönlendirilen ileti|továbbított üzenet|mesaj redirecționat|mesaj redirecţionat|προωθημένο μήνυμα|הודעה שהועברה"
    "|הודעה מועברת|رسالة معاد توجيهها|رسالة مُعاد توجيهها|转发的邮件|转发邮件|轉寄郵件|轉寄的郵件|转发信息|転送メッセージ"
    "|転送されたメッセージ|전달된 메시지|전달된 메일|전달 메시지|tin nhắn được chuyển tiếp|thư đã chuyển tiếp"
    "|ข้อความที่ส่งต่อ|pesan diteruskan|missatge reenviat"
)
# The same without dashes around it; a colon ends the line.
BEGIN_FORWARDED: Final = (
    "begin forwarded message|anfang der weitergeleiteten nachricht|anfang der weitergeleiteten e-mail"
    "|début du message transféré|début du message réexpédié|inicio del mensaje reenviado|início da mensagem encaminhada"
    "|início da mensagem reencaminhada|inizio messaggio inoltrato|inizio del messaggio inoltrato"
    "|begin doorgestuurd bericht|vidarebefordrat brev|start på videresendt besked|videresendt besked"
    "|begynnelse på videresendt melding|videresendt melding|początek przekazywanej wiadomości"
    "|začátek přeposílané zprávy|začiatok preposlanej správy|начало переадресованного сообщения"
    "|пересилане повідомлення|välitetty viesti alkaa|iletilmiş mesajın başlangıcı|iletilen ileti"
    "|továbbított levél kezdete|începutul mesajului redirecționat|αρχή προωθημένου μηνύματος|תחילת ההודעה שהועברה"
    "|بداية الرسالة المعاد توجيهها|下面是被转发的邮件|以下是轉寄的郵件|転送されたメッセージ|전달된 메시지 시작"
)

# What systems put above their mail so that answers can be cut there.
ABOVE: Final = (
    "reply above this line|type your reply above this line|write above this line|reply above. do not remove this line"
    "|please reply above this|add your reply above|enter your reply above|respond above this line|reply above the line"
    "|above this line to reply|to reply above this line|reply to this email above this line|antworten sie oberhalb dieser"
    "|bitte antworten sie über dieser|antwort bitte oberhalb dieser|antwort oberhalb dieser|über dieser linie antworten"
    "|oberhalb dieser zeile|répondez au-dessus de cette ligne|répondre au-dessus de cette ligne|écrire au-dessus de cette ligne"
    "|responda por encima de esta línea|responder por encima de esta línea|responda encima de esta línea"
    "|escriba su respuesta por encima de esta línea|responda acima desta linha|responder acima desta linha"
    "|rispondi sopra questa riga|rispondere sopra questa riga|rispondi sopra questa linea|reageer boven deze regel"
    "|antwoord boven deze regel|antwoord boven deze lijn|svara ovanför denna rad|svara ovanför den här raden"
    "|svar over denne linje|svar over denne linjen|vastaa tämän rivin yläpuolelle|odpowiedz powyżej tej linii"
    "|odpovězte nad tímto řádkem|odpovedzte nad týmto riadkom|ответьте выше этой|напишите ответ выше этой"
    "|відповідайте вище цього|bu satırın üstüne|válaszoljon e sor fölé|răspundeți deasupra acestei linii"
    "|απαντήστε πάνω από αυτή|请在此行上方回复|请在此行以上回复|請在此行上方回覆|この行より上に返信|この行の上に返信"
    "|이 줄 위에 회신|trả lời phía trên dòng này"
)
