// Names and writing directions of languages.

const RIGHT_TO_LEFT = new Set(["ar", "arc", "ckb", "dv", "fa", "he", "ks", "ps", "sd", "ug", "ur", "yi"]);
const RIGHT_TO_LEFT_LETTER = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** @param {string} code @param {string} interfaceCode @returns {string} */
export function languageName(code, interfaceCode) {
  try {
    const name = new Intl.DisplayNames([interfaceCode], { type: "language" }).of(code) ?? code;
    return name.charAt(0).toLocaleUpperCase(interfaceCode) + name.slice(1);
  } catch {
    return code; // not a language tag: show it as it is
  }
}

/** @param {string} code @returns {"rtl" | "ltr"} */
export function direction(code) {
  const [language, ...rest] = code.toLowerCase().split(/[-_]/);
  if (rest.includes("arab") || rest.includes("hebr")) return "rtl";
  return RIGHT_TO_LEFT.has(language) && !rest.includes("latn") ? "rtl" : "ltr";
}

/** Let a text field run the way its language is written; empty ones follow the page. @param {string} code may be empty */
export function direct(field, code, { guessed = false } = {}) {
  if (code) field.lang = code;
  else field.removeAttribute("lang");
  // A guess from few letters may be wrong: without a letter of its script, the letters decide.
  const sure = code && (!guessed || direction(code) === "ltr" || RIGHT_TO_LEFT_LETTER.test(field.value));
  if (sure) field.dir = direction(code);
  else if (field.value) field.dir = "auto";
  else field.dir = document.documentElement.dir;
}

/** Codes with their names, ordered by name. @param {string[]} codes @param {string} interfaceCode */
export function named(codes, interfaceCode) {
  const order = new Intl.Collator(interfaceCode);
  return codes.map((code) => ({ code, name: languageName(code, interfaceCode) })).sort((a, b) => order.compare(a.name, b.name));
}
