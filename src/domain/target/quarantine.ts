import type { Actor } from '../actor.ts';
import { type Bound, jsonBytes, newest } from '../bounds.ts';
import { findRevision } from '../deployment/revisionName.ts';
import type { KnownRevision, ReleaseResult } from '../release/release.ts';
import { noteAccepted, type Quarantined, type TargetState } from './targetState.ts';

/** After how many failed checks an artifact is quarantined automatically. */
const FAILED_CHECKS_UNTIL_QUARANTINE = 2;
const QUARANTINED: Bound = { items: 100, bytes: 150_000 };
const FAILED: Bound = { items: 100, bytes: 100_000 };

/**
 * Quarantines an artifact: it is not released, and its revisions are not restored automatically. The first reason
 * stays. If there are too many, the oldest that the target quarantined itself ends, because its checks would fail again.
 * One by a person never ends so: if all are, the state stays the same.
 */
export function quarantineArtifact(
  state: TargetState,
  artifact: string,
  by: Actor,
  now: string,
): TargetState {
  if (findQuarantined(state, artifact) !== undefined) return state;
  const all = [...state.quarantined, { artifact, since: now, by }];
  let quarantined: readonly Quarantined[] = all;
  while (quarantined.length > QUARANTINED.items || jsonBytes(quarantined) > QUARANTINED.bytes) {
    // Without an automatic one (-1), the new one.
    quarantined = quarantined.toSpliced(quarantined.findIndex(isAutomatic), 1);
  }
  const ended = all.filter((one) => !quarantined.includes(one));
  if (ended.some((one) => one.artifact === artifact)) return state;
  const known = markRevisions(state.known, artifact, true);
  return ended.reduce(
    (rest, one) => noteAccepted(rest, { at: now, message: 'unquarantine', by: TOO_MANY, note: one.artifact }),
    { ...state, quarantined, known },
  );
}

const TOO_MANY = { who: 'slipway', from: 'target', reason: 'too many artifacts are in quarantine' };

function isAutomatic({ by: { who, from } }: Quarantined): boolean {
  return who === 'slipway' && from === 'target';
}

/** Removes an artifact from quarantine. Its failed checks are forgotten. */
export function unquarantineArtifact(state: TargetState, artifact: string): TargetState {
  return {
    ...state,
    quarantined: state.quarantined.filter((other) => other.artifact !== artifact),
    failedChecks: state.failedChecks.filter((other) => other.artifact !== artifact),
    known: markRevisions(state.known, artifact, false),
  };
}

/** Whether {@link unquarantineArtifact} would change anything. */
export function isHeldAgainst(state: TargetState, artifact: string): boolean {
  const left = state.known.filter(({ quarantined }) => quarantined === true);
  return [...state.quarantined, ...state.failedChecks, ...left].some((other) => other.artifact === artifact);
}

/** The quarantine of an artifact; `undefined` if it is not quarantined. */
export function findQuarantined(state: TargetState, artifact: string): Quarantined | undefined {
  return state.quarantined.find((other) => other.artifact === artifact);
}

/**
 * The artifact that a person means: by its identity, the beginning of its digest (8 digits or more), an image or a git
 * ref as the history shows it, or a revision with it, by its id, the beginning of its id, or its release.
 * @returns its identity, or a sentence that says why it is unclear.
 */
export function findArtifact(
  state: TargetState,
  named: string,
): { readonly artifact: string } | { readonly problem: string } {
  const revision = state.known.find(({ revisionId }) => revisionId === named);
  if (revision !== undefined) {
    return revision.artifact === undefined
      ? { problem: `revision ${named} was not shipped from here: its artifact is not known` }
      : { artifact: revision.artifact };
  }
  const all = [...state.known, ...state.quarantined, ...state.failedChecks];
  const known = new Set(all.flatMap(({ artifact }) => artifact ?? []));
  if (known.has(named) || WHOLE_IDENTITY.test(named)) return { artifact: named };
  const digits = named.replace(/^sha256:/, '');
  const found = DIGEST_START.test(digits)
    ? [...known].filter((artifact) => artifact.startsWith(`sha256:${digits}`))
    : [];
  const [only, another] = found;
  if (another !== undefined) return { problem: `"${named}" is the beginning of ${found.length} artifacts` };
  if (only !== undefined) return { artifact: only };
  const meant = findRevision({ known: state.known, history: [] }, named);
  if ('revisionId' in meant) return findArtifact(state, meant.revisionId);
  if ('askFor' in meant) return { problem: `the target knows no artifact and no revision "${named}"` };
  // The history shows an image or a git ref without its kind.
  const shown = [`image:${named}`, `git:${named}`].find((identity) => known.has(identity));
  if (shown !== undefined || PINNED_IMAGE.test(named)) return { artifact: shown ?? `image:${named}` };
  return { problem: `the target knows no artifact "${named}", and ${meant.problem}` };
}

const WHOLE_IDENTITY = /^(?:sha256:[0-9a-f]{64}|image:.+|git:.+)$/s;
const PINNED_IMAGE = /^\S+@sha256:[0-9a-f]{64}$/u;
const DIGEST_START = /^[0-9a-f]{8,64}$/;

/**
 * Counts a release whose checks failed. The second one quarantines its artifact. `errored` does not count, because
 * the restored revision failed too, so the checks say nothing about the artifact. Nor does a release after which a verified
 * revision of the same artifact serves: its configuration or its checks failed, and that revision must stay restorable. Nor does
 * a branch or an image's tag, whose next release may ship something else, and whose earlier revisions must stay restorable.
 */
export function countFailedChecks(
  state: TargetState,
  result: ReleaseResult,
  artifact: string,
  now: string,
): TargetState {
  const failed = result.kind === 'release' && result.code === 'SLIPWAY_CHECK_FAILED';
  if (!failed || result.outcome === 'errored' || result.artifactMayChange === true) return state;
  const serving = state.known.find(({ revisionId }) => revisionId === result.servingRevisionId);
  if (serving?.verified === true && serving.artifact === artifact) return state;
  const before = state.failedChecks.find((other) => other.artifact === artifact)?.releaseIds ?? [];
  const releaseIds = [...before, result.releaseId];
  const others = state.failedChecks.filter((other) => other.artifact !== artifact);
  const counted = { ...state, failedChecks: newest([...others, { artifact, releaseIds }], FAILED) };
  if (releaseIds.length < FAILED_CHECKS_UNTIL_QUARANTINE) return counted;
  const reason = `failed its checks ${releaseIds.length} times: ${releaseIds.join(', ')}`;
  return quarantineArtifact(counted, artifact, { who: 'slipway', from: 'target', reason }, now);
}

function markRevisions(
  known: readonly KnownRevision[],
  artifact: string,
  quarantined: boolean,
): readonly KnownRevision[] {
  return known.map((revision) => {
    if (revision.artifact !== artifact) return revision;
    const { quarantined: _, barred: _1, ...rest } = revision;
    return quarantined ? { ...revision, quarantined } : rest;
  });
}
