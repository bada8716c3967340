/** One of several things that a person chooses among. */
export interface Choice {
  readonly value: string;
  readonly label: string;
  /** What the choice contains, or why it is offered. */
  readonly detail?: string;
}

/** The text and fields of an action's page, before a person confirms it. */
export interface Order {
  readonly title: string;
  /** The present state, and the state after the action: one sentence each. */
  readonly sentences: readonly string[];
  /** What must be chosen, as a field of the form. The first choice is the default. Absent: nothing. */
  readonly choose?: { readonly field: string; readonly legend: string; readonly choices: readonly Choice[] };
  /** The button's label. */
  readonly button: string;
  /** Hidden fields of the form. */
  readonly carried?: Readonly<Record<string, string>>;
  /** Why the action makes no sense now. Then there is no form. */
  readonly problem?: string;
}
