import { type Document, isScalar, parseDocument, Scalar, visit } from 'yaml';

import { isSecretName } from './configPlace.ts';
import type { Environment } from './environment.ts';

const VARIABLE_PREFIX = 'SLIPWAY_VAR_';

/** `${vars.NAME}`, or with a default `${vars.NAME:-text}`. No shell variable contains a dot, so shell commands are unaffected. */
const REFERENCE = /\$\{vars\.([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;
const BEGINNING = /\$\{vars\b/;
/** Shorter values may equal a secret by chance. */
const SECRET_MIN_CHARS = 8;

/** A variable that could not be substituted, and its place in the text: offsets from 0, the end exclusive. */
export interface VariableProblem {
  readonly range: readonly [start: number, end: number];
  readonly message: string;
}

/**
 * Substitutes variables in the texts of a document. Only variables named as `SLIPWAY_VAR_STAGE` are available. A value that
 * equals a secret variable's is rejected, because Temporal histories contain the file. A value that is one unquoted variable
 * gets the type that YAML gives its text.
 */
export function substituteVariables(document: Document, environment: Environment): VariableProblem[] {
  const problems: VariableProblem[] = [];
  visit(document, {
    Scalar(role, node) {
      const { value, range } = node;
      if (role === 'key' || typeof value !== 'string' || !BEGINNING.test(value) || range == null) return;
      const wrong = (message: string): string => {
        problems.push({ range: [range[0], range[1]], message });
        return '';
      };
      const text = value.replaceAll(REFERENCE, (_, name: string, fallback: string | undefined) =>
        valueOf(name, fallback, environment, wrong),
      );
      if (BEGINNING.test(value.replaceAll(REFERENCE, ''))) {
        wrong('a variable is written as ${vars.NAME}, or with a default as ${vars.NAME:-text}');
      }
      node.value = isOneVariable(node, value) ? asYamlReadsIt(text) : text;
    },
  });
  return problems;
}

function valueOf(
  name: string,
  fallback: string | undefined,
  environment: Environment,
  wrong: (message: string) => string,
): string {
  const variable = `${VARIABLE_PREFIX}${name}`;
  const value = environment[variable];
  if (value === undefined || (value === '' && fallback !== undefined)) {
    return fallback ?? wrong(`${variable} is not set, and there is no default: \${vars.${name}:-text}`);
  }
  const secret = Object.keys(environment).find(
    (other) => isSecretName(other) && other !== variable && environment[other] === value,
  );
  if (secret === undefined || value.length < SECRET_MIN_CHARS) return value;
  return wrong(`${variable} has the value of ${secret}: reference a secret as env:${secret}`);
}

function isOneVariable({ type }: Scalar, value: string): boolean {
  return type === Scalar.PLAIN && value.replace(REFERENCE, '') === '';
}

/** Not what only happens to read as a number, as the abbreviated commits `12e4567` and `0123456` do. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/u;

function asYamlReadsIt(text: string): string | number | boolean {
  const { contents } = parseDocument(text);
  const read = isScalar(contents) ? contents.value : undefined;
  return typeof read === 'boolean' || (typeof read === 'number' && NUMBER.test(text)) ? read : text;
}
