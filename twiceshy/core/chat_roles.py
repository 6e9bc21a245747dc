"""Where a text reads as if somebody else began to speak: the roles of a chat, whatever language they are named in.

Patterns for `quoting`, whose first group is what makes it so: the colon behind a role, the sign of a heading, the
bracket of a token. They are for a text as `confusables.folded` leaves it (no capitals; ``l`` for ``i`` and ``1``, ``o``
for ``0``), without the signs of emphasis, and with numbers that stand alone as dots.
"""

import re2

from twiceshy.core.confusables import folded

_ROLES = """
    system user assistant human ai developer tool function model bot agent instruction instructions response
    observation thought thoughts action question answer
    benutzer nutzer assistent mensch entwickler anweisung anweisungen
    système utilisateur humain développeur consigne consignes
    sistema usuario asistente humano instrucción instrucciones
    usuário assistente instrução instruções
    utente umano istruzione istruzioni
    systeem gebruiker mens instructie instructies
    użytkownik asystent człowiek polecenie polecenia instrukcja instrukcje
    система пользователь ассистент помощник человек инструкция инструкции
    користувач асистент помічник людина інструкція інструкції
    systém uživatel člověk pokyn pokyny
    användare människa instruktion instruktioner
    sistem utilizator instrucțiune instrucțiuni
    pengguna asisten manusia instruksi
    kullanıcı asistan insan talimat talimatlar
    rendszer felhasználó asszisztens ember utasítás utasítások
    सिस्टम उपयोगकर्ता सहायक निर्देश
    نظام النظام مستخدم المستخدم مساعد المساعد تعليمات التعليمات
    מערכת משתמש עוזר הוראות
"""
# Vietnamese puts blanks into a word, and these put none between words.
_ROLES_WITHIN = """
    系统 系統 用户 用戶 助手 助理 人类 人類 指令 指示
    システム ユーザー アシスタント 人間
    시스템 사용자 어시스턴트 지시
"""
_ROLES_OF_TWO = ("hệ thống", "người dùng", "trợ lý", "hướng dẫn")
_SPEAKERS = "system user assistant human"
_TOKENS = "inst sys system assistant systemprompt toolcalls availabletools toolresults args prefix suffix middle think"


def _any_of(*words: str) -> str:
    return "|".join(dict.fromkeys(folded(word).text for word in words))


_LETTER = r"[\pL\pM]"
_BETWEEN = r"[^\pL\pM:\n]"
# Up to two words are on either side of a role: "Tool result", "System (root)", "New instructions".
_ROLE = (
    rf"(?:{_LETTER}+{_BETWEEN}+){{0,2}}"
    rf"(?:(?:{_any_of(*_ROLES.split(), *_ROLES_OF_TWO)})[lo2-9]*"
    rf"|{_LETTER}*(?:{_any_of(*_ROLES_WITHIN.split())}){_LETTER}*)"
    rf"(?:{_BETWEEN}+{_LETTER}+){{0,2}}{_BETWEEN}*"
)
PATTERNS = tuple(
    map(
        re2.compile,
        (
            rf"(?m)^[^\pL\pM\n]*{_ROLE}(:)",
            # Those of a transcript begin within a line, too. A name in quotation marks is one of JSON.
            rf"(?:^|[^\pL\pM]|\\[nrt])(?:{_any_of(*_SPEAKERS.split())})[lo2-9]*[ \\]*(:)",
            rf"(?m)^[^\pL\pM\n#]*(#){_BETWEEN}*{_ROLE}$",
            rf"(\[) ?/? ?(?:{_any_of(*_TOKENS.split())}) ?\]",
        ),
    )
)
