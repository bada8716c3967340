import { phrases } from './phrases.generated.mjs';

export const graph = phrases;
