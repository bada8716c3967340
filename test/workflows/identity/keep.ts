import type { Statement } from '../../../src/domain/identity/statement.ts';
import { newProofName, statementAudience } from '../../../src/identity/proof.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';

/** Stores a proof that the issuer of a target's world confirms. @returns the record's name. */
export function keep(target: TargetUnderTest, who: string, statement: Statement): string {
  const name = newProofName();
  const at = 'signed-statement';
  target.world.kept.set(name, { token: who, statement: statementAudience(statement), at });
  return name;
}
