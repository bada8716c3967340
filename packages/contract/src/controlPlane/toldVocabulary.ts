import type { ValidationIssue } from '../httpErrors.ts';
import { PUBLIC_DEPLOYMENT_TYPES } from './sourceConfig.ts';
import { valueAt } from './sourceRules.ts';
import { namesOf, type ToldName, type Vocabulary } from './vocabulary.ts';

/**
 * Which vocabulary a request was written in: told by the names that only one of them has. Decisions:
 * - `revision_source`, which the contract does not know, tells of the public relative.
 * - So does a `deployment_type` that only it has, and any `deployment_type` beside source `internal_source` and an empty `source_revision_config`: the public deploy
 *   command creates like that, and the contract forbids both.
 * - A file's name is no sign: `graph_config_path: langgraph.json` is a contract's request about a file of that name.
 * - Names of both: neither, see {@link mixedVocabulary}.
 *
 * `undefined`: the request says the same in both.
 */
export function toldVocabulary(request: unknown): Vocabulary | undefined {
  const { contract, public: relative } = namesOf(request);
  if (contract.length > 0) return 'contract';
  if (relative.length > 0 || isPublicByShape(request)) return 'public';
  return undefined;
}

/**
 * What is wrong with a request that mixes the vocabularies: an issue for each name of the public relative. Decision: it
 * is refused, since half of it would be ignored as unknown fields. Empty: it does not.
 */
export function mixedVocabulary(request: unknown): ValidationIssue[] {
  const { contract, public: relative } = namesOf(request);
  const [first] = contract;
  if (first === undefined) return [];
  return relative.map(({ place, name }) => ({
    loc: ['body', ...place],
    msg: `${name} is a name of the public vocabulary, and the request has ${first.name} of the contract's, too: use one`,
    type: 'vocabulary_mixed',
  }));
}

/** What is wrong with a request to a service that speaks the public vocabulary only. Empty: nothing. */
export function notPublic(request: unknown): ValidationIssue[] {
  return namesOf(request).contract.map(({ place, name }: ToldName) => ({
    loc: ['body', ...place],
    msg: `${name} is a name of the contract's vocabulary, which this control plane does not speak`,
    type: 'vocabulary_unknown',
  }));
}

function isPublicByShape(request: unknown): boolean {
  if (valueAt(request, ['revision_source']) !== undefined) return true;
  const type = valueAt(request, ['source_config', 'deployment_type']);
  if (PUBLIC_DEPLOYMENT_TYPES.some((each) => each === type)) return true;
  return (
    valueAt(request, ['source']) === 'internal_source' &&
    type != null &&
    JSON.stringify(valueAt(request, ['source_revision_config'])) === '{}'
  );
}
