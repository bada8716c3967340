export type Claims = Readonly<Record<string, unknown>>;

/** A person's e-mail address, if the issuer has verified it. Unverified addresses can be chosen freely. */
export function verifiedEmail(claims: Claims): string | undefined {
  const { email, email_verified: isVerified } = claims;
  return typeof email === 'string' && email !== '' && isVerified === true ? email : undefined;
}
