/** Where a secret is: a variable of the environment, or a file by its absolute path. */
export type SecretPlace = { readonly variable: string } | { readonly file: string };

/** A reference to a secret: `env:NAME`, or `file:/absolute/path`. */
export const SECRET_REFERENCE = /^(?:env:[A-Za-z_][A-Za-z0-9_]*|file:(?:\/|[A-Za-z]:[/\\]).+)$/su;

/**
 * Reads a reference to a secret. Undefined for anything else, which may be the secret itself, written where only a
 * reference belongs.
 */
export function readSecretReference(text: string): SecretPlace | undefined {
  if (!SECRET_REFERENCE.test(text)) return undefined;
  return text.startsWith('env:')
    ? { variable: text.slice('env:'.length) }
    : { file: text.slice('file:'.length) };
}

/** The secret in the text of a file: without the line ends that editors put at its end. */
export function secretInFile(content: string): string {
  return content.replace(/[\r\n]+$/u, '');
}
