import type { TargetFacts } from './facts.ts';
import type { Rule, Violation } from './violation.ts';

/**
 * Rule 1: a target forgets neither its hold nor its quarantine, whatever Temporal's own tools did to its runs. It queues no
 * release on hold, and none of an artifact in quarantine.
 */
export const nothingForgotten: Rule = ({ target }) => queuedAllTheSame(target);

function queuedAllTheSame({ workflowId, said }: TargetFacts): Violation[] {
  /** Who set the hold. That of a rollback ends with the rollback where it changes nothing: it is not followed up. */
  let hold: 'a person' | 'a rollback' | null = null;
  let quarantined: readonly string[] = [];
  const violations: Violation[] = [];
  for (const fact of said) {
    switch (fact.kind) {
      case 'hold':
        hold = 'a person';
        break;
      case 'rollback':
        hold ??= 'a rollback';
        break;
      case 'rollback refused':
        break;
      case 'unhold':
        hold = null;
        break;
      case 'quarantine':
        quarantined = [...quarantined, fact.artifact];
        break;
      case 'unquarantine':
        // An artifact that was named otherwise than before may be any of them.
        quarantined = quarantined.includes(fact.artifact)
          ? quarantined.filter((artifact) => artifact !== fact.artifact)
          : [];
        break;
      case 'started afresh':
        hold = null;
        quarantined = [];
        break;
      case 'queued': {
        const release = `${workflowId}/${fact.releaseId}`;
        if (hold === 'a person' && !fact.overridesHold) {
          violations.push({
            rule: 1,
            workflowId: release,
            what: 'it was queued although the target was on hold',
          });
        }
        if (quarantined.includes(fact.artifact)) {
          const what = `it was queued although ${fact.artifact} was in quarantine`;
          violations.push({ rule: 1, workflowId: release, what });
        }
      }
    }
  }
  return violations;
}
