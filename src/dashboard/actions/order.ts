/** One of several things that a person chooses among. */
export interface Choice {
  readonly value: string;
  readonly label: string;
  /** What the choice contains, or why it is offered. */
  readonly detail?: string;
}

/** What the page of an action says before a person does it. */
export interface Order {
  readonly title: string;
  /** What is so now, and what will be: one sentence each. */
  readonly sentences: readonly string[];
  /** What must be chosen, as a field of the form. The first one is chosen at first. Absent: nothing. */
  readonly choose?: { readonly field: string; readonly legend: string; readonly choices: readonly Choice[] };
  /** What the button says. */
  readonly button: string;
  /** Fields that the form carries as they are. */
  readonly carried?: Readonly<Record<string, string>>;
  /** Why it makes no sense now, in words: then there is no form. */
  readonly problem?: string;
}
