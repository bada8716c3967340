/** The location of a secret: an environment variable, or a file by its absolute path. */
export type SecretPlace = { readonly variable: string } | { readonly file: string };

/** A reference to a secret: `env:NAME`, or `file:/absolute/path`. */
export const SECRET_REFERENCE = /^(?:env:[A-Za-z_][A-Za-z0-9_]*|file:(?:\/|[A-Za-z]:[/\\]).+)$/su;

/** Parses a reference to a secret. Undefined for other texts: one may be the secret itself, in the wrong place. */
export function readSecretReference(text: string): SecretPlace | undefined {
  if (!SECRET_REFERENCE.test(text)) return undefined;
  return text.startsWith('env:')
    ? { variable: text.slice('env:'.length) }
    : { file: text.slice('file:'.length) };
}

/** The secret in a file's text, without the byte order mark and the line ends that editors add. */
export function secretInFile(content: string): string {
  return content.replace(/^\uFEFF|[\r\n]+$/gu, '');
}
