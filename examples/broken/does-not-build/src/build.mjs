import { readFileSync, writeFileSync } from 'node:fs';

// What broke: the phrases below cannot be parsed, so that the build ends before it has written anything.
const phrases = JSON.parse(readFileSync(new URL('./phrases.txt', import.meta.url), 'utf8'));
const generated = new URL('./phrases.generated.mjs', import.meta.url);
writeFileSync(generated, `export const phrases = ${JSON.stringify(phrases)};\n`);
