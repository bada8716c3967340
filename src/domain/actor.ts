import { cutText, oneLine } from './bounds.ts';

/** Who asked, from where, and why. */
export interface Actor {
  /** A person or a machine: `ada@example.com`, `ci`. */
  readonly who: string;
  /** Where the request came from: a CI run's URL, `cli`, `signal`. */
  readonly from: string;
  readonly reason?: string;
  /** The identity behind the name. Absent: the name is only claimed. */
  readonly proved?: ProvedIdentity;
}

/** An identity that an OIDC issuer proved, and a worker verified. */
export interface ProvedIdentity {
  readonly issuer: string;
  /** The issuer's id of a person; for a CI job, the id of its repository. */
  readonly subject: string;
  /** A person's e-mail address, if the issuer says that it is verified. */
  readonly email?: string;
  /** Set for a CI job: the identity is that of the repository, not of the person behind the job. */
  readonly job?: true;
}

/** The name with its proof: `ada@example.com (proved by https://login.example.com)`, or `ada (claimed)`. */
export function nameAndProof({ who, proved }: Actor): string {
  return `${who} (${proved === undefined ? 'claimed' : `proved by ${proved.issuer}`})`;
}

/** The same in a row of a list: `ada@example.com (proved)`, or `ada (claimed)`. */
export function nameAndMark({ who, proved }: Actor): string {
  return `${who} (${proved === undefined ? 'claimed' : 'proved'})`;
}

/** `ada: a bad answer`, or `ada` without a reason. */
export function whoAndWhy({ who, reason }: Actor): string {
  return reason === undefined ? who : `${who}: ${reason}`;
}

/** The longest reason that targets accept, in characters. */
const REASON_MAX = 1_000;

/** A reason as one line of a length that targets accept: for the sake of its reason, no message is rejected. */
export function reasonLine(reason: string): string {
  const line = oneLine(reason).trim();
  return line.length <= REASON_MAX ? line : cutText(line, REASON_MAX);
}

/** Whether two actors are the same: by name, one issuer's subject, or verified e-mail address across issuers. */
export function isSameActor(one: Actor, other: Actor): boolean {
  if (one.who === other.who) return true;
  const { proved: a } = one;
  const { proved: b } = other;
  if (a === undefined || b === undefined) return false;
  if (a.issuer === b.issuer && a.subject === b.subject) return true;
  return a.email !== undefined && a.email.toLowerCase() === b.email?.toLowerCase();
}
