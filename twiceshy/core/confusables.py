"""Characters that look like others: what a text reads as, whatever it is written with.

    folded("Ѕｙstеm：").text                 'system:'

Width, case, accents and style fall away, and what looks like a Latin letter or a digit of ASCII becomes that; of those
that look like each other one stands for all (``l`` for ``i`` and ``1``, ``o`` for ``0``), so that only folded texts
compare with folded texts.
"""

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

# From the confusables of UTS #39 (Unicode 15), those that are one character and look like one of ASCII; the other signs
# that look like a colon; and the small capitals.
_LOOKS_LIKE = {
    "2": "ƨϩᒿꙅꛯꝛ",
    "3": "ȝɜʒзӡⳍꝫ𑣊𖼻𝈆",
    "4": "Ꮞ𑣏",
    "5": "ƽ𑣛",
    "6": "бᏮⳓ𑣕",
    "7": "𐓺𑣆𝈒",
    "8": "ȣ৪੪𐌚",
    "9": "৭੧୨൭ⳋꝯ𑣌𑣖",
    ":": "ː˸։׃܃܄ःઃ᛬᠃᠉⁚∶ꓽ꞉︰",
    "a": "ɑαаᎪᗅ⍺ꓮ𐊠𖽀ᴀ",
    "b": "ƅβвьᏏᏴᑲᖯᗷꓐꞵ𐊂𐊡𐌁ƀʙ",
    "c": "σсᏟᴄⲥꓚ𐊢𐌂𐐽𐔜𑣩𑣲🝌ȼ",
    "d": "ԁᎠᏧᑯᗞᗪꓒꓓđᴅ",
    "e": "εеҽᎬ℮⋿ⴹꓰꬲ𐊆𑣎ɇᴇ",
    "f": "ϝքᖴẝꓝꞙꬵ𐊇𐊥𐔥𑣂𝈓ꜰ",
    "g": "ƍɡԍցᏀᏳᶃꓖɢ",
    "h": "ηнһհᎻᏂᕼⲏꓧ𐋏ħʜ",
    "j": "ʝϳјᎫᒍꓙᴊ",
    "k": "κкᏦᛕⲕꓗ𐔘ᴋ",
    "l": "ıǀɩɪιіӏ۱ᎥᏞᒪᛁ∣⍳⏽│ⲓⳑⵏꓡꓲꙇ𐊊𐌉𐌠𐑃𐔦𑣃𑣒𖼖𖼨𝈪łʟ",
    "m": "μϻмᎷᗰᛖⲙꓟ𐊰𐌑ᴍ",
    "n": "ոռⲛꓠ𐔓ɴ",
    "o": "οоօ۵०০੦૦ଠ୦௦౦೦ഠ൦๐໐ဝ၀ჿዐᴏᴑⲟⵔ〇ꓳꬽ𐊒𐊫𐐬𐓪𐔖𑓐𑣈𑣗𑣠ø",
    "p": "ρрᏢᑭ⍴ⲣꓑ𐊕ᴘ",
    "q": "ԛգզⵕꞯ",
    "r": "ʀгᎡᎱᏒᖇᴦⲅꓣꭇꭈ𐓜𖼵𝈖",
    "s": "ѕտᏕᏚꓢꜱ𐊖𐑈𑣁𖼺",
    "t": "τтᎢ⊤⟙ⲧꓔ𐊗𐊱𐌕𖼊🝨ŧᴛ",
    "u": "ʋυսሀᑌᴜ∪⋃ꓴꞟꭎꭒ𐓶𑣘𖽂",
    "v": "νѵ۷Ꮩᐯᴠ∨⋁ⴸꓦꛟ𐔝𑜆𑣀𖼈𝈍",
    "w": "ɯѡԝաᎳᏔᴡꓪ𑜊𑜎𑜏𑣦𑣯",
    "x": "×χхᕁᕽ᙭᙮ᚷ╳⤫⤬⨯ⲭⵝꓫꭓ𐊐𐊴𐌗𐌢𐔧𑣬",
    "y": "ɣʏγуүყᎩᎽᶌỿⲩꓬꭚ𐊲𑣜𖽃",
    "z": "ζᏃᴢꓜ𐋵𑣄𑣉𑣥",
}
_FOLDED = {ord(other): letter for letter, others in _LOOKS_LIKE.items() for other in others}
_FOLDED |= {ord("0"): "o", ord("1"): "l", ord("i"): "l"}
# Letters in black circles and squares, and those of which flags are made.
_FOLDED |= {first + step: chr(ord("a") + step) for first in (0x1F150, 0x1F170, 0x1F1E6) for step in range(26)}
_FOLDED |= {ord(badge): "l" for badge in "🅘🅸🇮"}


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text, and for each of its characters the position in the original of what it was made of."""

    text: str
    positions: list[int] | range


def folded(text: str) -> Folded:
    if text.isascii():
        return Folded(text.lower().translate(_FOLDED), range(len(text)))
    letters: list[str] = []
    positions: list[int] = []
    for position, letter in enumerate(text):
        for part in _looks(letter):
            letters.append(part)
            positions.append(position)
    return Folded("".join(letters), positions)


@lru_cache(maxsize=4_096)
def _looks(letter: str) -> str:
    digit = unicodedata.digit(letter, None)
    # What looks like a sign that it is not decomposed to.
    plain = letter.translate(_FOLDED) if digit is None else str(digit)
    # Case-folding can undo the normal form, and so is done between two of it.
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", plain).casefold())
    return "".join(part for part in plain if unicodedata.category(part) != "Mn").translate(_FOLDED)
