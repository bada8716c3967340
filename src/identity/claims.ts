/** What an issuer says of a person. */
export type Claims = Readonly<Record<string, unknown>>;

/** A person's e-mail address, if the issuer says that it verified it: elsewhere people may type what they like. */
export function verifiedEmail(claims: Claims): string | undefined {
  const { email, email_verified: isVerified } = claims;
  return typeof email === 'string' && email !== '' && isVerified === true ? email : undefined;
}
