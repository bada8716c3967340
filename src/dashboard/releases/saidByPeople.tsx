import { nameAndProof } from '../../domain/actor.ts';
import type { InterventionRecord } from '../../domain/intervention/intervention.ts';
import { Moment } from '../page/times.tsx';

export function SaidByPeople({ interventions }: { readonly interventions: readonly InterventionRecord[] }) {
  if (interventions.length === 0) return null;
  return (
    <section>
      <h2>Commands</h2>
      <ul class="lines">
        {interventions.map(({ at, kind, what, by, note, taken }) => (
          <li>
            <Moment at={at} /> <strong>{`${kind}${what === undefined ? '' : ` ${what}`}`}</strong>
            {` by ${nameAndProof(by)}${by.reason === undefined ? '' : ` (${by.reason})`}: ${taken ? '' : 'not accepted, '}${note}`}
          </li>
        ))}
      </ul>
    </section>
  );
}
