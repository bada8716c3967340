const WITHOUT_OFFSET = /:[\d.]+$(?<![+-]\d\d:\d\d)/u;

/** A moment in ISO 8601 with an offset. One without is UTC; `Date` would take it for the local time of this machine. */
export function withOffset(moment: string): string {
  return WITHOUT_OFFSET.test(moment) ? `${moment}Z` : moment;
}
