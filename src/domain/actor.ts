/** Who asked, from where, and why. */
export interface Actor {
  /** A person or a machine: `ada@example.com`, `ci`. */
  readonly who: string;
  /** Where the request came from: a CI run's URL, `cli`, `signal`. */
  readonly from: string;
  readonly reason?: string;
}

/** `ada: a bad answer`, or `ada` without a reason. */
export function whoAndWhy({ who, reason }: Actor): string {
  return reason === undefined ? who : `${who}: ${reason}`;
}
