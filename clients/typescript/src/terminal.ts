// Texts that are safe to write to a terminal. A model's text may contain anything, also what would move the cursor or change the title.

/** A whole escape sequence: of a string (title, link), of a control, or of two characters. What remains of others, `plain` removes. */
const SEQUENCE =
  /(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[ -~]/g;
/** Controls; marks of direction and others without a shape; halves of characters; not assigned. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Cn}]/gu;
/** Characters of two columns. */
const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]/u;
const COMBINING = /[\p{Mn}\p{Me}]/u;

/** A text on one line, without escape sequences, control characters and marks that reverse or hide text. */
export function plain(text: string): string {
  return text.replace(SEQUENCE, "").replace(/[\s\x1c-\x1f\x85]+/g, " ").trim().replace(HIDDEN, "");
}

/** A text as `plain` has it, of at most `width` columns; a text that is too long ends with `…`. */
export function cut(text: string, width: number): string {
  const characters = [...plain(text)];
  if (characters.reduce((sum, one) => sum + columns(one), 0) <= width) return characters.join("");
  let [kept, used] = ["", 1];
  for (const one of characters) {
    used += columns(one);
    if (used > width) break;
    kept += one;
  }
  return width > 0 ? `${kept}…` : "";
}

function columns(character: string): number {
  if (COMBINING.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
