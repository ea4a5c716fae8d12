"""Families of words by which reports say why: what is spoken of, and what is said of it, a few words apart.

`core.bouncewords` has the sentences that are known; these hold in every other wording of the same, in many languages.
They are looked for in plain words (`core.bounceread`) without punctuation inside a sentence; `@` is the recipient's address. What speaks of us (our
address, our host, the sender's account) is taken out first: it must never be read as said of the recipient.
Every expression is bounded: at most four words lie between its two parts, so it is linear in the text.
"""

import re
from dataclasses import dataclass
from typing import Final

from postroom.core.bouncereason import BounceReason


@dataclass(frozen=True, slots=True)
class Family:
    """What holds where `pattern` is found."""

    id: str
    reason: BounceReason
    pattern: re.Pattern[str]


_R = BounceReason

_APART: Final = re.compile(r"[_:,()/\"*\[\]{}|\u201c\u201d\u00ab\u00bb<>=-]+")
_OF_US: Final = re.compile(
    r"(?<!\w)(?:senders?(?:'s)?|sending|senderaddress|from|return|originat\w{1,6}|your|our|ip|host|network|client|smtp auth\w{0,10}|(?:message|mail|email) sender)"
    r" (?:e ?mails? |mail |smtp |sending |user )?(?:address(?:es)?|accounts?|users?|mailbox(?:es)?|e ?mail|konto|cuenta|adresse?)(?!\w)"
)

_WORD: Final = r"[^ ]{0,39}[^ .;!?]"
_GAP: Final = rf"(?: {_WORD}){{0,4}} "
_VERB: Final = (
    r"(?:(?:is|was|has|have|been|does|did|could|can|you sent to|currently|now|the|an?) ){1,3}"
)
_FILL: Final = (
    r"(?:(?:the|this|that|a|an|or|of|for|local|final|destination|recipient'?s?|target|remote|intended|specified|such|smtp"
    r"|mail|e|email|e-mail|virtual|disabled|unknown|mailbox|user|to) ){0,3}"
)
_WHO: Final = (
    r"(?:users?|user ?names?|userids?|recipients?|rcpt|mail ?box(?:es)?|accounts?|addressee|address(?:es)?|e ?mails?|customers?|subscribers?|login|alias|inbox"
    r"|box|person|individual|member|employee|part|username|id|destination|mailhost"
    r"|usu[aá]rios?|destinat[aá]rios?|direcci[oó]n|cuenta|casilla|buz[oó]n|endere[cç]o|conta|caixa"
    r"|utilisateur|destinataires?|adresses?|compte|bo[iî]te|utenti?|indirizzo|casella|account"
    r"|empf[aä]e?ngers?|empfaengers?|benutzers?|nutzers?|postfach\w{0,8}|konto|mailadresse|e ?mailadresse|teilnehmer"
    r"|gebruiker|ontvanger|adres|mottagare\w{0,3}|anv[aä]ndare\w{0,3}|modtager\w{0,3}|bruger\w{0,3}|mottaker\w{0,3}|bruker\w{0,3}|adressen"
    r"|vastaanottaja\w{0,3}|k[aä]ytt[aä]j[aä]\w{0,3}|odbiorc[ay]|adresat\w{0,2}|u[zż]ytkownik\w{0,2}|skrzynka|p[rř][ií]jemce|u[zž]ivatel|schr[aá]nka|adresa"
    r"|c[ií]mzett|felhaszn[aá]l[oó]|postafi[oó]k|kullan[ıi]c[ıi]|al[ıi]c[ıi]|hesap|utilizator\w{0,3}"
    r"|пользовател\w{1,3}|получател\w{1,3}|ящик\w{0,2}|адресат\w{0,2}|адрес\w{0,2}|користувач\w{0,2}|скринька)"
)
_GONE: Final = (
    r"(?:unknown|unknow|not known|no exists?|not exists?|(?:do|does|did)(?:n't|nt) exists?|non ?exist\w{0,6}|not found|n[o']t be found|can(?:not|'t) be found|couldn't be found|cannot find"
    r"|invalid|not valid|not a valid|not an? (?:active|known|existing|local)|isn't valid|no longer (?:valid|exists?|here|with|works?|employed|at|on)|not registered|unregistered"
    r"|not recogni[sz]ed|unrecogni[sz]ed|not listed|unlisted|unallocated|not allocated|undeliverable|undefined|not defined|not here|does not live"
    r"|(?:been|was|is) (?:deleted|removed)|has left|incorrect|misspelled|marked as invalid|not in (?:the |our |my )?(?:recipient|user|list|directory|database)|no such|doesn't have an?|does not have an?"
    r"|desconocid[oa]|desconhecid[oa]|inexist\w{1,6}|no existe|n[aã]o existe|n[aã]o encontrad[oa]|no encontrad[oa]|inv[aá]lid[oa]|no v[aá]lid[oa]|inconnue?s?|invalide|n'existe|introuvable"
    r"|sconosciut[oa]|inesistente|non esiste|non valid[oa]|non trovat[oa]|unbekannt|nicht bekannt|existiert nicht|nicht gefunden|nicht vorhanden|ung[uü]e?ltig|nicht existent"
    r"|onbekend|bestaat niet|ok[aä]nd|finns inte|ukendt|findes ikke|eksisterer ikke|ukjent|finnes ikke|tuntematon|ei ole olemassa|nieznan[ya]|nie istnieje|nie znaleziono"
    r"|nezn[aá]m[ya]|neexistuje|nenalezena?|ismeretlen|nem l[eé]tezik|bilinmiyor|bulunamad[ıi]|mevcut de[gğ]il|inexistent|nu exist[aă]"
    r"|неизвест\w{1,4}|не существует|не найден\w?|недействител\w{1,4}|не зарегистрирован|не існує|не знайдено)"
)
_NO: Final = (
    r"(?:no such|unknown|invalid|non ?exist\w{2,6}|unrecogni[sz]ed|not a valid|not an? (?:existing|known|active)|isn't a valid|no valid|no known|undeliverable|unallocated"
    r"|illegal|incorrect|wrong|undefined|unavailable|no active|(?:do|does)(?:n't| not) exists? (?:that|such|this)|there is no|there's no|have no|no existe (?:el|la)|onbekende|unbekannter?|ung[uü]e?ltiger?|ok[aä]nd|nieznany"
    r"|несуществующий|неизвестный|неверный)"
)
_OFF: Final = (
    r"(?:disabled?|suspended|inactive|deactivated|de activated|blocked|locked(?: out)?|frozen|expired|closed|terminated|not (?:been )?activated?|not active|not enabled|dormant|cancell?ed|hibernated"
    r"|due to inactivity|temporarily unavailable|restricted|discontinued|suspendid[oa]|inactiv[oa]|desactivad[oa]|desativad[oa]|bloquead[oa]|expirad[oa]|vencid[oa]|cancelad[oa]|d[eé]sactiv[eé]e?|suspendue?|bloqu[eé]e?|ferm[eé]e?"
    r"|disabilitat[oa]|disattivat[oa]|sospes[oa]|bloccat[oa]|gesperrt|deaktiviert|inaktiv|abgelaufen|geblokkeerd|sp[aä]rrad|zablokowan[ea]|nieaktywn[ea]|zawieszon[ea]"
    r"|заблокирован\w?|отключ\w{1,5}|неактив\w{1,4}|приостановлен\w?)"
)
_STORE: Final = (
    r"(?:mail ?box(?:es)?|inbox|mail ?dir|accounts?|users?|user's|recipients?|recipient's|quota|storage|dis[kc]|space|folder|box|mail ?drop|postfach|postfachs?|speicher\w{0,9}"
    r"|bo[iî]te|buz[oó]n|casilla|cuota|casella|caixa|cota|skrzynka|schr[aá]nka|postafi[oó]k|postkasse\w{0,3}|postlåda\w{0,3}|brevl[aå]da\w{0,3}|ящик\w{0,2}|квота)"
)
_FILLED: Final = (
    r"(?:full|over ?quota|quota (?:is )?(?:exceeded|full|reached)|over (?:its|their|the|his|allowed|storage|dis[kc]) (?:quota|limit|storage|space)|out of (?:storage|space|dis[kc]|quota)"
    r"|exceed\w{0,3} (?:its|their|the|his|allowed|storage|dis[kc]|mailbox|maximum)? ?(?:quota|storage|space|dis[kc]|mailbox|capacity|allocation)|exhausted|overdrawn|exceeded|exceed"
    r"|not enough (?:space|room|storage)|no (?:more )?(?:space|room)|insufficient|[uü]berschritten|voll|pleine?|satur[eé]e?|d[eé]pass[eé]e?|llen[oa]|excedid[oa]|agotad[oa]|superad[oa]|pien[oa]|superat[oa]|chei[oa]|lotad[oa]|pe[lł]na"
    r"|p[rř]epln[eě]na|megtelt|fullt?|fuld|переполнен\w?|превышен\w?)"
)
_UNITS: Final = r"(?:connections?|sessions?|messages?|mails?|e ?mails?|recipients?|attempts|errors|requests|commands|threads|senders?|users)"


def _family(family_id: str, reason: BounceReason, *patterns: str) -> Family:
    joined = "|".join(f"(?:{one})" for one in patterns)
    return Family(family_id, reason, re.compile(rf"(?<!\w)(?:{joined})(?!\w)"))


# What is about us is looked for before anything about the recipient.
RATES: Final = (
    _family(
        "too many at once",
        _R.RATE_LIMITED,
        rf"too (?:many|much|frequent)(?! hops)(?: {_WORD}){{0,2}} {_UNITS}",
        rf"(?:messages?|mails?|e ?mails?|connections?|recipients?)(?: {_WORD}){{0,3}} (?:per|an|each|within an?) (?:hour|minute|day|second|connection|session)",
        rf"(?:number|rate|volume) of (?:concurrent |simultaneous |smtp |incoming |e )?{_UNITS}(?! (?:in|on) )(?: {_WORD}){{0,6}} (?:exceed\w{{0,3}}|limit\w{{0,3}}|reached)",
        r"(?:rate|frequency|connection|concurrency|hourly|sending|relay|velocity)(?: limit| quota)(?:ed|s)?",
        r"recipients? limit",
        rf"(?:sent|sending|send|receiving)(?: {_WORD}){{0,4}} too (?:many|much|fast|quickly|often)",
        r"excessive (?:volume|rate|number|connections)",
    ),
)
US: Final = (
    _family(
        "our papers",
        _R.SENDER_UNAUTHENTICATED,
        "spf",
        "dkim",
        "dmarc",
        r"anti ?spoof\w{0,4}",
        "spoofed",
    ),
    _family(
        "a server does not forward for us",
        _R.RELAYING_DENIED,
        r"relay\w{0,3}(?: access)?(?: is)? (?:denied|disabled|prohibited|not|forbidden|refused|disallowed|rejected)",
    ),
    _family(
        "our host or address",
        _R.SENDER_REFUSED,
        rf"(?:senders?|envelope sender|mail ?from|sender domain|sending (?:domain|host|server|ip|address|mta)|(?:remote|source|client|sending|your|the) ip(?: address)?|ip(?: address)?|(?:remote|client) host"
        rf"|your (?:domain|server|host|network|mail server|smtp server|e ?mail address)|that domain|helo|ehlo)(?: {_WORD}){{0,3}}"
        r" (?:is |was |are |has been )?(?:rejected|refused|block\w{0,4}|banned|forbidden|denied|not allowed|not welcome|not permitted|not accepted|not authori[sz]ed|not in my|listed|fake|invalid|unresolvable"
        r"|resolve fail|not resolve|not exist|has no|no valid|must exist|blacklisted|suspicious|unknown|not found)",
        rf"your (?:e ?mail )?(?:accounts?|address|mail ?box|user)(?: {_WORD}){{0,3}} (?:{_GONE}|{_OFF})",
        r"verify your",
        r"(?:fake|invalid|bad|rejected|blocked|banned|forbidden|unresolvable|null|unverified) (?:senders?|ip|helo|ehlo|host ?name|source)",
        r"you are (?:\w{1,9} )?(?:banned|blocked|listed|not authori[sz]ed|not permitted)",
        r"(?:mail|e ?mail|messages?|connections?) (?:originating )?from (?:that|this|your|the) (?:domain|host|server|ip|network|address|country)",
        r"(?:of|for) the sending domain",
        r"blocked by \w{0,12}(?:ip|bl|rbl|sip)",
    ),
)
RECIPIENTS: Final = (
    _family("their mailbox is full", _R.RECIPIENT_MAILBOX_FULL, rf"{_STORE}{_GAP}{_FILLED}", rf"(?:full|over ?quota|exceeded) {_FILL}(?:mail ?box|inbox|quota)"),
    _family("their account is off", _R.RECIPIENT_DISABLED, rf"{_WHO}{_GAP}{_OFF}", rf"@ {_VERB}(?:an? |the )?{_OFF}", rf"(?:inactive|disabled|suspended|deactivated|expired|locked|closed|dormant) {_FILL}{_WHO}", r"is (?:now |currently |temporarily )?(?:disabled|suspended|deactivated)"),
    _family("nobody of that name", _R.RECIPIENT_UNKNOWN, rf"{_WHO}{_GAP}{_GONE}", rf"@ {_VERB}{_GONE}", r"@ (?:doesn't|does not) have an?", rf"{_NO} {_FILL}{_WHO}", rf"bad {_FILL}(?:recipients?|mailbox|destination)",
            r"not (?:an? )?(?:user|customer|member|account|mail ?box|address) (?:of|on|at|in|here)", r"no (?:users?|accounts?|mail ?box(?:es)?|recipients?) (?:here|by|with|found|of|named|called|at|on)", r"invalid local (?:name|part)"),
    _family("no such domain", _R.DOMAIN_UNKNOWN, rf"(?:domains?|host ?names?)(?: name| part)?(?: (?:is|was|does|could|can))? {_GONE}"),
)  # fmt: skip
SERVERS: Final = (
    _family(
        "their server is not well",
        _R.DOMAIN_TROUBLE,
        rf"(?:systems?|servers?|services?|backend|database|directory|resources?|queue|disk|lookup)(?: {_WORD}){{0,3}}"
        r" (?:not available|unavailable|(?:too )?busy|down|overload\w{0,3}|offline|maintenance|failed|failure)",
        r"temporar(?:y|ily) (?:\w{1,12} )?(?:failure|error|problem|unavailable|busy|rejected|refused)",
    ),
)
REFUSALS: Final = (
    _family(
        "refused without a word on why",
        _R.RECIPIENT_REFUSED,
        rf"{_WHO}{_GAP}(?:denied|refused|rejected|not allowed|not permitted|not accepted|not ok|cannot be verified|not verified)",
        r"cannot deliver mail for",
    ),
)
POLICIES: Final = (
    _family("their policy", _R.MESSAGE_REFUSED, r"smtp auth\w{0,10}", r"registered users", r"(?:attach\w{0,6}|file) (?:types?|extensions?|names?)", r"in the same domain", r"(?:message|mail|e ?mail)(?: (?:is|was|has|been)){0,3} (?:not welcome|unwanted)", r"polic(?:y|ies)", rf"(?:message|mail|mail data|content)(?: {_WORD}){{0,2}} (?:refused|reject(?:ed)?|denied)", r"content (?:\w{1,9} )?(?:denied|rejected|refused|blocked)", r"(?:banned|prohibited|forbidden) (?:\w{1,12} )?(?:content|words?|attachments?|files?)"),
)  # fmt: skip


def apart(words: str) -> str:
    """The words without punctuation inside sentences."""
    return " ".join(_APART.sub(" ", words).split())


def without_us(words: str) -> str:
    """The words without what is spoken of where it is ours."""
    return _OF_US.sub(" ~ ", words)


def find_family(families: tuple[Family, ...], words: str) -> BounceReason | None:
    """The reason of the first that holds in `words`, as `apart` gives them."""
    return next((one.reason for one in families if one.pattern.search(words)), None)
