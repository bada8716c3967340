import { alwaysRestores } from './alwaysRestores.ts';
import { claimsAreTrue } from './claimsAreTrue.ts';
import { leavesWhatServed } from './leavesWhatServed.ts';
import { nothingForgotten } from './nothingForgotten.ts';
import { oneAtATime, oneOwner } from './oneAtATime.ts';
import { oneRevision } from './oneRevision.ts';
import { ownChecks } from './ownChecks.ts';
import { ownRevision, servedWhenChecked } from './ownRevision.ts';
import { deployedOnly, neverStuck, neverWedged, noSecrets } from './secretsAndOutcomes.ts';
import type { Evidence, Rule, Violation } from './violation.ts';
import { watched } from './watched.ts';

/** Rules 1 to 10 and 12 of the design. */
const RULES: readonly Rule[] = [
  oneAtATime,
  oneOwner,
  nothingForgotten,
  oneRevision,
  ownRevision,
  servedWhenChecked,
  alwaysRestores,
  ownChecks,
  leavesWhatServed,
  watched,
  noSecrets,
  deployedOnly,
  neverWedged,
  neverStuck,
  claimsAreTrue,
];

/** Holds everything that is known of a target against the rules that hold always: what was broken, and where. */
export function audit(evidence: Evidence): readonly Violation[] {
  return RULES.flatMap((rule) => rule(evidence));
}
