"""Families of words in other languages than English: what they say of us, of the mail, of the recipient and of servers.

Beside `core.bouncefamilies`, in the same plain words and with its bounds (six words about an address of the network). Chinese, Japanese and Korean set no blanks
between words, so their families are parts of a sentence, at most twelve signs apart.
"""

import re
from typing import Final

from postroom.core.bouncefamilies import GAP, WORD, Family, family
from postroom.core.bouncereason import BounceReason


_R = BounceReason

_FAR: Final = rf"(?: {WORD}){{0,6}} "
_NO: Final = (
    r"(?:refus[eé]{1,2}s?|rejet[eé]{1,2}s?|bloqu\w{1,4}|bloc{1,2}at[aioe]|interdit\w?|abgelehnt|abgewiesen|gesperrt|geblockt|blockiert|rechazad[oa]|denegad[oa]|rejeitad[oa]|recusad[oa]|rifiutat[oa]"
    r"|geweigerd|geblokkeerd|odrzucon\w{1,2}|zablokowan\w{1,2}|отклон\w{1,5}|отверг\w{1,5}|заблокир\w{1,8}|запрещ\w{1,5}|відхилен\w{0,2}|odm[ií]tnut\w?|zam[ií]tnut\w?|avvisat\w?|afvist|estetty|hylätty|elutasítva|reddedildi|engellen\w{1,4})"
)
_NONE: Final = (
    r"(?:inconnue?|inexistante?|invalide|n'existe(?: pas)?|non autoris[eé]e?|unbekannt|ung[uü]e?ltig\w{0,2}|existiert nicht|nicht erlaubt|nicht zul[aä]ssig|desconocid[oa]|no v[aá]lid[oa]|inv[aá]lid[oa]|no existe|no autorizad[oa]|n[aã]o existe|n[aã]o autorizad[oa]|sconosciut[oa]|non valid[oa]|non esiste|non autorizzat[oa]"
    r"|onbekend|ongeldig|nieznan\w{1,2}|nieprawidłow\w{1,2}|неизвест\w{1,4}|не существует|недопустим\w{0,3}|недействител\w{1,4})"
)
_SENDER: Final = r"(?:exp[eé]diteur|[eé]metteur|absenders?|absenderadresse|absenderdomain|remitente|remetente|mittente|afzenders?|nadawc[ay]|отправител\w{1,3}|відправник\w{0,2}|odes[ií]latele?|avs[aä]ndare\w{0,2}|afsender\w{0,2}|avsender\w{0,2}|lähettäj\w{1,4}|gönderen\w{0,4}|felad[oó])"
_HOST: Final = r"(?:ip|adresse ip|serveur|servidor|hôte|rechner|mailserver|сервер\w{0,2}|адрес\w{0,2} отправителя|serwer\w{0,2})"
_MAIL: Final = (
    r"(?:message|courriels?|mails?|e ?mails?|nachricht|mensaje|correo|mensagem|messaggio|bericht|wiadomo[sś][cć]i?|письм\w{0,3}|сообщени[ея]|листа?|повідомлення|zpr[aá]v[ay]|anhang|pi[eè]ce jointe|adjuntos?|anexos?|allegat[oi]|bijlage|załącznik\w{0,2}|вложени[ея]"
    r"|taille|gr[oö]e?(?:ß|ss)e|tama[nñ]o|tamanho|dimension[ei]|размер\w{0,2})"
)
_THINGS: Final = r"(?:connexions|messages|courriels|destinataires|verbindungen|nachrichten|mails|e ?mails|empf[aä]e?nger|conexiones|mensajes|correos|destinatarios|connessioni|messaggi|destinatari|conex[oõ]es|mensagens|verbindingen|berichten|po[lł][aą]cze[nń]|wiadomo[sś]ci|соединени[йя]|писем|сообщений|получателей|erreurs|fehler|errores)"


def _parts(family_id: str, reason: BounceReason, *patterns: str) -> Family:
    return Family(family_id, reason, re.compile("|".join(patterns)))


_CJK_PERSON: Final = r"(?:用户|用戶|收件人|收信人|邮箱|郵箱|信箱|地址|账号|帐号|帳號|ユーザ|宛先|アドレス|メールボックス|受信者|사용자|수신자|주소|계정|메일함)"

# Before anything is looked for that is said of the recipient.
ABOUT_US: Final = (
    family("too many, elsewhere", _R.RATE_LIMITED,
        rf"(?:trop de|zu viele|demasiad[oa]s|tropp[ie]|muit[oa]s|te veel|zbyt (?:wiele|du[zż]o)|слишком много|p[rř][ií]li[sš] mnoho|t[uú]l sok)(?: {WORD}){{0,2}} {_THINGS}",
        r"(?:слишком часто|превышен\w? (?:лимит|количество|частота|скорость)(?! ящика))",
        rf"(?:limite|l[ií]mite|limit|лимит)(?: {WORD}){{0,3}} {_THINGS}(?: {WORD}){{0,3}} (?:heure|hora|stunde|час|ora|uur)"),
    _parts("too many, in cjk", _R.RATE_LIMITED, "频率", "頻率", "频繁", "頻繁", "过快", "连接数", "連接數", "接続数", "送信数", "并发", "发送数量超"),
    family("our host, elsewhere", _R.SENDER_REFUSED,
        rf"{_HOST}{GAP}{_NO}", rf"(?:ip|adresse ip|ip adresse){_FAR}{_NO}", rf"{_NO}{GAP}(?:ip|adresse ip)",
        r"(?:listas? negras?|listes? noires?|schwarze[nr]? liste|sperrliste|list[ae] ner[ae]|zwarte lijst|czarn\w{1,2} li[sś]\w{2,3}|ч[её]рн\w{1,3} спис\w{1,3}|чорн\w{1,3} спис\w{1,3}|kara liste\w{0,3}|[cč]ern\w{1,3} listin\w{1,3}|svartlist\w{1,4})"),
    family("not forwarded, elsewhere", _R.RELAYING_DENIED, r"weiterleitung nicht", r"relais (?:refus[eé]|interdit|non)", r"пересылка (?:запрещена|не разрешена)", r"reenv[ií]o no", r"(?:retransmiss[aã]o|reencaminhamento) (?:n[aã]o|negad[oa]|proibid[oa])", r"(?:list\w{0,2}|liste) (?:de|der|di|des) (?:\w{1,12} )?(?:anfitri[oõ]es|hosts|rcpt)(?: \w{1,12})?"),
    family("our address, elsewhere", _R.SENDER_REFUSED, rf"{_SENDER}{GAP}{_NO}", rf"{_SENDER}{GAP}{_NONE}", rf"(?:{_NO}|{_NONE}){GAP}{_SENDER}"),
    _parts("us, in cjk", _R.SENDER_REFUSED, "黑名单", "黑名單", "ブラックリスト", "블랙리스트", r"(?:发信|发件|發信|寄件)ip",
        r"(?:发件人|发信人|寄件者|寄件人|送信者|送信元|발신자).{0,12}(?:拒绝|拒絕|禁止|不合法|不存在|无效|無效|無効|被拒|拒否|存在し|차단)", r"ip.{0,8}(?:拒绝|拒絕|禁止|封|被拒|拒否|차단)"),
)  # fmt: skip
ABOUT_THE_MAIL: Final = (
    family("unwanted, elsewhere", _R.MESSAGE_SPAM, r"ind[eé]sirables?", "pourriels?", r"спам\w{0,3}", "no deseado", r"n[aã]o solicitad[oa]s?", r"indesejad[oa]s?", r"indesiderat[aoei]",
        r"unerw[uü]e?nscht\w{0,2}", r"ongewenste?", r"niechcian\w{1,3}", r"nevy[zž][aá]dan\w{1,3}", r"roskaposti\w{0,4}", r"skr[aä]ppost\w{0,2}", "istenmeyen", r"correo basura|lixo eletr[oô]nico|posta spazzatura|publicit[eé]|publicidad|propaganda|werbung|werbemail\w{0,2}|реклам\w{1,3}|рассылк\w{1,3}"),
    _parts("unwanted, in cjk", _R.MESSAGE_SPAM, "垃圾", "スパム", "迷惑メール", "스팸", "反垃圾"),
    family("harmful, elsewhere", _R.MESSAGE_VIRUS, r"вирус\w{0,2}", r"вірус\w{0,2}", "schadsoftware", r"malveillant\w?", r"wirus\w{0,2}", r"v[ií]rus", r"malicios[oa]", r"haittaohjelm\w{1,3}"),
    _parts("harmful, in cjk", _R.MESSAGE_VIRUS, "病毒", "ウイルス", "ウィルス", "바이러스"),
)  # fmt: skip
ABOUT_RECIPIENTS: Final = (
    family("moved, elsewhere", _R.RECIPIENT_MOVED, rf"(?:adresse|direcci[oó]n|indirizzo|endere[cç]o|adres){GAP}(?:a chang[eé]|ha cambiado|ha camb?iato|[eè] cambiato|mudou|hat sich ge[aä]e?ndert|is gewijzigd)"),
    _parts("full, in cjk", _R.RECIPIENT_MAILBOX_FULL, r"(?:空间|空間|容量|邮箱|信箱|メールボックス|용량|메일함).{0,12}(?:不足|已满|已滿|满|滿|超过|超過|超出|超限|一杯|いっぱい|초과|가득|부족)"),
    _parts("off, in cjk", _R.RECIPIENT_DISABLED, rf"{_CJK_PERSON}.{{0,12}}(?:禁用|停用|锁定|鎖定|被锁|冻结|凍結|暂停|停止|过期|過期|無効化|休眠|정지)"),
    _parts("nobody, in cjk", _R.RECIPIENT_UNKNOWN, rf"{_CJK_PERSON}.{{0,12}}(?:不存在|没有|沒有|未找到|找不到|无效|無效|未开通|查无|查無|不正确|错误|有误|存在し|見つかり|不明|ありません|無効|없|존재하지|찾을 수)", r"(?:无此|無此|没有此|没有这个|查无此|該当する).{0,6}(?:用户|用戶|邮箱|收件人|地址|人|ユーザ|アドレス)"),
    family("nobody, elsewhere", _R.RECIPIENT_UNKNOWN, r"(?:nie ma|brak|aucun|aucune|kein|keine|keinen|ning[uú]n|nessun|nessuna|nenhum|geen|нет|немає|ingen|ei|nincs)"
        r" (?:takiego |tel |solche[nr]? |tal |такого |такой )?(?:konta|u[zż]ytkownika|adresu|skrzynki|utilisateur|compte|destinataire|bo[iî]te|adresse|benutzer|empf[aä]e?nger|postfach|konto|usuario|buz[oó]n|utente|indirizzo|casella|usu[aá]rio|gebruiker|postbus|пользователя|ящика|адреса|получателя|anv[aä]ndare|mottagare|k[aä]ytt[aä]j[aä][aä]?|felhaszn[aá]l[oó])",
        rf"(?:wurde nicht (?:in|bei|unter) {WORD}|n'a pas [eé]t[eé]|no se (?:ha|encontr[oó])|non [eè] stat[oa]|n[aã]o foi|is niet|nie zosta[lł]o?) (?:gefunden|trouv[eé]e?|encontrad[oa]|trovat[oa]|gevonden|znalezion[ya])",
        r"gibt es (?:\w{1,12} ){0,2}nicht|(?:n'a pas|n'ont pas|no tiene|n[aã]o tem|n[aã]o possui|non ha|hat kein|heeft geen|nie ma|nemá)(?: de| una?| um| il| ein)? (?:compte|bo[iî]te|cuenta|buz[oó]n|conta|caixa|account|casella|konto|postfach|mailbox|postbus|konta|účet)",
        r"(?:n'est plus (?:valide|utilis[eé]e?|active)|n'existe plus|no longer in use|ya no existe|non [eè] pi[uù] (?:valid|attiv)[oa]|nicht mehr (?:vorhanden|g[uü]ltig|verwendet)|больше не (?:существует|используется))"),
)  # fmt: skip
AFTER_ALL: Final = (
    family("too big, elsewhere", _R.MESSAGE_TOO_BIG,
        rf"{_MAIL}{GAP}(?:trop (?:grande?|grosse?|gros|volumineu\w{{1,3}}|longu?e?|lourde?)|zu gro(?:ß|ss)|[uü]e?berschreitet|demasiado (?:grande|larg[oa])|muito grande|excede|supera|troppo grande|te groot|zbyt du\w{{1,3}}|za du\w{{1,3}}|слишком (?:велик\w?|больш\w{{2,3}}|длинн\w{{2,3}})|превыша\w{{2,3}}|d[eé]passe)"),
    _parts("too big, in cjk", _R.MESSAGE_TOO_BIG, r"(?:邮件|郵件|信件|附件|メッセージ|メール|메일|첨부).{0,12}(?:过大|太大|過大|大きすぎ|大小超|超过大小|サイズ|초과)"),
    family("refused, elsewhere", _R.RECIPIENT_REFUSED, rf"(?:destinataire|empf[aä]e?ngers?|destinatari[oa]|ontvanger|odbiorc[ay]|получател\w{{1,2}}|адресат\w{{0,2}}|mottagaren?|p[rř][ií]jemce){GAP}{_NO}"),
    family("not now, elsewhere", _R.DOMAIN_TROUBLE, r"temporairement|vor[uü]e?bergehend|temporalmente|temporariamente|temporaneamente|tijdelijk|tymczasow\w{1,2}|do[cč]asn\w{1,2}|временно|тимчасово|tillf[aä]lligt|midlertidig\w?|v[aä]liaikais\w{1,4}|ge[cç]ici",
        r"plus tard|sp[aä]e?ter|m[aá]s tarde|mais tarde|pi[uù] tardi|later opnieuw|p[oó][zź]niej|позже|пізніше|daha sonra|pozd[eě]ji|senare|senere"),
    _parts("not now, in cjk", _R.DOMAIN_TROUBLE, "暂时", "暫時", "稍后", "稍後", "一時的", "しばらく", "잠시", "일시적"),
    family("a policy, elsewhere", _R.MESSAGE_REFUSED, r"politiques?|richtlinien?|pol[ií]ticas?|politica|beleid|политик\w{1,2}|zasad\w?|bezpecnost\w{1,3}", rf"{_MAIL}{GAP}{_NO}"),
)  # fmt: skip
