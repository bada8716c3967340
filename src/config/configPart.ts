import { type Document, LineCounter, parseDocument } from 'yaml';

import { readableLines } from './configExcerpt.ts';
import { type ConfigProblem, type ConfigSource, placeOfRange } from './configPlace.ts';
import { type Environment, substituteVariables } from './variables.ts';

/** One of the files that a configuration is made of, parsed, with its variables put in. */
export interface ConfigPart extends ConfigSource {
  /** As problems name it. */
  readonly file: string;
  /** What stands in it; `{}` where it is empty or no YAML. */
  readonly raw: unknown;
  /** What is wrong with it whatever its fields are: no YAML, variables without a value, files that cannot be read. */
  readonly problems: readonly ConfigProblem[];
}

/** Parses one file. What it extends is not read. */
export function configPart(file: string, text: string, environment: Environment): ConfigPart {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const source = { file, text, document, lines };
  const problems = [
    ...problemsOfYaml(source, 'error', document.errors),
    ...problemsOfYaml(source, 'warning', document.warnings),
  ];
  if (document.errors.length > 0) return { ...source, raw: {}, problems };
  const shown = readableLines(source, []);
  for (const { range, message } of substituteVariables(document, environment)) {
    const place = placeOfRange(source, ...range);
    const excerpt = shown[place.line - 1] ?? '';
    problems.push({ file, severity: 'error', ...place, path: '', message, excerpt });
  }
  return { ...source, raw: document.toJS({ maxAliasCount: 100 }) ?? {}, problems };
}

function problemsOfYaml(
  source: ConfigSource & { readonly file: string },
  severity: ConfigProblem['severity'],
  found: Document['errors'] | Document['warnings'],
): ConfigProblem[] {
  const lines = readableLines(source, []);
  return found.map(({ code, pos: [start, end], message: ofYaml }) => {
    const place = placeOfRange(source, start, end);
    const message = code === 'DUPLICATE_KEY' ? definedTwice(source.text.slice(start)) : ofYaml;
    return { file: source.file, severity, ...place, path: '', message, excerpt: lines[place.line - 1] ?? '' };
  });
}

/** @param text - what begins with the key. */
function definedTwice(text: string): string {
  const [, key = ''] = /^["']?([^"':\n]*)/.exec(text) ?? [];
  return `"${key}" is defined twice here: rename or remove one`;
}
