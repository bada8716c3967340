// What broke: it needs a setting that nobody gave it, and says so as it is loaded.
if (process.env.GREETER_PHRASE_BOOK === undefined) throw new Error('GREETER_PHRASE_BOOK is not set');

export const graph = undefined;
