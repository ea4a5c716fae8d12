"""What can be wrong with a message, in words that stay: each says what was done about it."""

from enum import StrEnum


class Defect(StrEnum):
    """One kind of damage, or of trickery."""

    ADDRESSES_DROPPED = "addresses_dropped"  # a list longer than anyone reads was cut
    BARE_NEWLINE = "bare_newline"  # a lone CR or LF; read as a line end
    BASE64_DAMAGED = "base64_damaged"  # what is no base64 was skipped
    BOUNDARY_MISSING = "boundary_missing"  # a multipart without parts; read as text
    BOUNDARY_UNCLOSED = "boundary_unclosed"  # the message ends inside a multipart
    CHARSET_ERRORS = "charset_errors"  # octets that are not of the declared charset became U+FFFD
    CHARSET_GUESSED = "charset_guessed"  # none declared, or one that nobody knows
    CONTENT_TYPE_DAMAGED = "content_type_damaged"  # read as text/plain
    DATE_UNREADABLE = "date_unreadable"
    DEPTH_EXCEEDED = "depth_exceeded"  # what is nested deeper was not read
    ENCODED_WORD_DAMAGED = "encoded_word_damaged"  # shown as it came
    FIELD_CUT = "field_cut"  # one header field longer than is read
    FIELD_REPEATED = "field_repeated"  # of a field that may be there once, the first counts
    HEADER_CUT = "header_cut"  # a header longer than is read
    HEADER_END_MISSING = "header_end_missing"  # no empty line before the body
    HEADER_LINE_DAMAGED = "header_line_damaged"  # a line that is no field was skipped
    HIDDEN_TEXT_DROPPED = "hidden_text_dropped"  # HTML that no reader would see
    HTML_CUT = "html_cut"  # only the beginning of it became text
    HTML_DAMAGED = "html_damaged"  # nested deeper than is read; the rest is missing
    ID_DAMAGED = "id_damaged"  # a message id that is none was skipped
    NOT_READ = "not_read"  # the reader was stopped or failed; only the header was looked at
    PARTS_EXCEEDED = "parts_exceeded"  # the parts behind were not read
    TEXT_CLEANED = "text_cleaned"  # NUL and half surrogates were taken out of the text
    TRANSFER_ENCODING_UNKNOWN = "transfer_encoding_unknown"  # read as it is


# With one of these the message was not read whole: `limited`.
LIMITING = frozenset(
    {
        Defect.ADDRESSES_DROPPED,
        Defect.DEPTH_EXCEEDED,
        Defect.FIELD_CUT,
        Defect.HEADER_CUT,
        Defect.HTML_CUT,
        Defect.HTML_DAMAGED,
        Defect.NOT_READ,
        Defect.PARTS_EXCEEDED,
    }
)
