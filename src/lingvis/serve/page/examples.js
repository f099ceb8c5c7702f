// Queries to begin with: the server chooses some that find varied pictures; else sentences that suit most.

import { getExamples } from "./api.js";

const SENTENCES = {
  en: "a dog on the beach", de: "ein Hund am Strand", fr: "un chien sur la plage", es: "un perro en la playa",
  pt: "um cachorro na praia", it: "un cane sulla spiaggia", nl: "een hond op het strand", cs: "pes na pláži",
  pl: "pies na plaży", tr: "plajda bir köpek", ru: "собака на пляже", uk: "собака на пляжі", zh: "海滩上的一只狗",
  ja: "浜辺にいる犬", ko: "해변의 강아지", ar: "كلب على الشاطئ", fa: "سگی در ساحل", he: "כלב על החוף",
  hi: "समुद्र तट पर एक कुत्ता", id: "seekor anjing di pantai", vi: "một con chó trên bãi biển", sv: "en hund på stranden",
};
const MOST = 6;

/**
 * @param {{languages: string[]}} collection
 * @param {string} interfaceCode the reader's own language comes first
 * @returns {Promise<{words: string, lang: string}[]>}
 */
export async function examples(collection, interfaceCode) {
  const { examples: chosen } = await getExamples(interfaceCode).catch(() => ({ examples: [] }));
  if (chosen.length) return chosen.map(({ text, lang }) => ({ words: text, lang }));
  const own = [interfaceCode, "en", ...collection.languages].filter((lang) => collection.languages.includes(lang));
  const general = [...new Set(own)].filter((lang) => lang in SENTENCES).map((lang) => ({ words: SENTENCES[lang], lang }));
  return general.slice(0, MOST);
}
