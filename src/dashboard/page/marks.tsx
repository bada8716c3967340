import type { Child } from 'hono/jsx';

import { type Actor, nameAndProof } from '../../domain/actor.ts';
import { shortArtifact, shortCommit } from '../../domain/artifact/artifact.ts';
import type { PastRelease } from '../../domain/release/pastRelease.ts';

/** The meaning of a color. Red is only for what needs a person. */
export type Tone = 'good' | 'active' | 'warn' | 'bad' | 'quiet';

/** A word with its color, and a shape for people who cannot see the color. */
export function Chip({ tone, children }: { readonly tone: Tone; readonly children?: Child }) {
  return <span class={`chip ${tone}`}>{children}</span>;
}

const OUTCOMES: Readonly<Record<PastRelease['outcome'], readonly [words: string, tone: Tone]>> = {
  running: ['running', 'active'],
  released: ['released', 'good'],
  rolled_back: ['rolled back', 'warn'],
  failed: ['failed, nothing changed', 'warn'],
  rollback_failed: ['rollback failed', 'bad'],
  errored: ['errored', 'bad'],
  aborted: ['aborted', 'quiet'],
  superseded: ['superseded', 'quiet'],
  rejected: ['rejected', 'quiet'],
  stopped: ['terminated in Temporal', 'quiet'],
};

/** How a release ended, in a word. A rollback on request counts as good. */
export function OutcomeChip({ outcome, kind }: Pick<PastRelease, 'outcome' | 'kind'>) {
  const [words, tone] = OUTCOMES[outcome];
  return <Chip tone={kind === 'rollback' && outcome === 'rolled_back' ? 'good' : tone}>{words}</Chip>;
}

export function Commit({ commit }: { readonly commit: string }) {
  return <code title={commit}>{shortCommit(commit)}</code>;
}

/** An artifact: the beginning of its digest, or the end of its image's name. */
export function ArtifactName({ artifact }: { readonly artifact: string }) {
  const short = shortArtifact(artifact).replace(/^sha256:/u, '');
  return (
    <code title={artifact} class="artifact">
      {short}
    </code>
  );
}

export function RevisionId({ id }: { readonly id: string }) {
  return <code title={id}>{id.slice(0, 8)}</code>;
}

/** Who asked for something, from where, and why. */
export function Requester({ by }: { readonly by: Actor }) {
  return (
    <>
      {`by ${nameAndProof(by)}, from `}
      <Origin from={by.from} />
      {by.reason === undefined ? '' : `: ${by.reason}`}
    </>
  );
}

/** The origin of a request: a link if it is an address. */
function Origin({ from }: { readonly from: string }) {
  if (!/^https?:\/\//.test(from) || !URL.canParse(from)) return <>{from}</>;
  return (
    <a href={from} rel="noreferrer">
      {new URL(from).host}
    </a>
  );
}

export function Verified({ verified }: { readonly verified: boolean }) {
  return verified ? <span class="verified">verified</span> : <span class="unverified">not verified</span>;
}

export function Facts({
  kind = 'table',
  facts,
}: {
  /** `line`: beside each other. Default: below each other. */
  readonly kind?: 'table' | 'line';
  readonly facts: Readonly<Record<string, Child>>;
}) {
  return (
    <dl class={kind}>
      {Object.entries(facts).map(
        ([name, value]) =>
          value != null && (
            <div>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

export function ScrollTable({
  label,
  headings,
  kind,
  children,
}: {
  readonly label: string;
  readonly headings: readonly string[];
  /** The table's class. Absent: none. */
  readonly kind?: string;
  readonly children?: Child;
}) {
  return (
    <div class="scroll" tabindex={0} role="region" aria-label={label}>
      <table class={kind}>
        <thead>
          <tr>
            {headings.map((heading) => (
              <th scope="col">{heading}</th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

export function TemporalLink({ address }: { readonly address: string | null }) {
  if (address === null) return null;
  return (
    <p>
      <a href={address} rel="noreferrer">
        Open in Temporal
      </a>
    </p>
  );
}

const FORMAT = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});
const CLOCK = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZone: 'UTC',
});

/** An instant. The script adds how long ago it was. `at`: ISO 8601. */
export function Moment({ at }: { readonly at: string }) {
  return (
    <time datetime={at} data-tells="ago">
      {momentText(at)}
    </time>
  );
}

export function momentText(at: string): string {
  return `${FORMAT.format(Date.parse(at))} UTC`;
}

/** How long something has lasted. The script keeps counting. `since`: ISO 8601. */
export function Elapsed({ since }: { readonly since: string }) {
  return (
    <time datetime={since} data-tells="elapsed">
      {`since ${CLOCK.format(Date.parse(since))} UTC`}
    </time>
  );
}

/** When something ends. The script shows how much time is left. `at`: ISO 8601. */
export function Until({ at }: { readonly at: string }) {
  return (
    <time datetime={at} data-tells="left">
      {`until ${momentText(at)}`}
    </time>
  );
}

/** The time of day, for a row among others of the same day. */
export function Clock({ at }: { readonly at: string }) {
  return <time datetime={at}>{CLOCK.format(Date.parse(at))}</time>;
}
