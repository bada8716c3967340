import { type Environment, isOn } from '../../config/environment.ts';

/** The CI run that this process is part of; `undefined` outside of CI. */
export function ciRun(environment: Environment): CiRun | undefined {
  const found = SYSTEMS.find(({ known }) => known.some((name) => isOn(environment, name)));
  if (found === undefined) return undefined;
  const { system, name, who, commit, ref, url } = found;
  return {
    system,
    who: firstSet(environment, who) ?? 'ci',
    from: url(environment) ?? name,
    // A build can be requested for `HEAD`; then git is asked for the commit.
    commit: firstSet(environment, commit, (value) => value !== 'HEAD'),
    ref: firstSet(environment, ref),
  };
}

type CiSystem = 'github' | 'gitlab' | 'buildkite' | 'circleci' | 'jenkins' | 'other';

interface CiRun {
  readonly system: CiSystem;
  /** Who triggered it; `ci` if unknown. */
  readonly who: string;
  /** The run's URL; the system's name if unknown. */
  readonly from: string;
  readonly commit: string | undefined;
  readonly ref: string | undefined;
}

interface CiVariables {
  readonly system: CiSystem;
  readonly name: string;
  /** Any of these identifies the system. Users commonly set `CI=false` to turn CI mode off. */
  readonly known: readonly string[];
  /** The first of these that is set. */
  readonly who: readonly string[];
  readonly commit: readonly string[];
  readonly ref: readonly string[];
  readonly url: (environment: Environment) => string | undefined;
}

const SYSTEMS: readonly CiVariables[] = [
  {
    system: 'github',
    name: 'github actions',
    known: ['GITHUB_ACTIONS'],
    who: ['GITHUB_ACTOR'],
    commit: ['GITHUB_SHA'],
    ref: ['GITHUB_REF_NAME'],
    url: ({ GITHUB_SERVER_URL = 'https://github.com', GITHUB_REPOSITORY, GITHUB_RUN_ID }) =>
      isSet(GITHUB_REPOSITORY) && isSet(GITHUB_RUN_ID)
        ? `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}/actions/runs/${GITHUB_RUN_ID}`
        : undefined,
  },
  {
    system: 'gitlab',
    name: 'gitlab ci',
    known: ['GITLAB_CI'],
    who: ['GITLAB_USER_LOGIN', 'GITLAB_USER_EMAIL'],
    commit: ['CI_COMMIT_SHA'],
    ref: ['CI_COMMIT_REF_NAME'],
    url: (environment) => firstSet(environment, ['CI_JOB_URL']),
  },
  {
    system: 'buildkite',
    name: 'buildkite',
    known: ['BUILDKITE'],
    who: ['BUILDKITE_BUILD_CREATOR', 'BUILDKITE_BUILD_CREATOR_EMAIL'],
    commit: ['BUILDKITE_COMMIT'],
    ref: ['BUILDKITE_TAG', 'BUILDKITE_BRANCH'],
    url: (environment) => firstSet(environment, ['BUILDKITE_BUILD_URL']),
  },
  {
    system: 'circleci',
    name: 'circleci',
    known: ['CIRCLECI'],
    who: ['CIRCLE_USERNAME'],
    commit: ['CIRCLE_SHA1'],
    ref: ['CIRCLE_TAG', 'CIRCLE_BRANCH'],
    url: (environment) => firstSet(environment, ['CIRCLE_BUILD_URL']),
  },
  {
    system: 'jenkins',
    name: 'jenkins',
    known: ['JENKINS_URL', 'BUILD_URL'],
    who: ['BUILD_USER_ID', 'BUILD_USER', 'CHANGE_AUTHOR'],
    commit: ['GIT_COMMIT'],
    ref: ['TAG_NAME', 'BRANCH_NAME', 'GIT_BRANCH'],
    url: (environment) => firstSet(environment, ['BUILD_URL']),
  },
  { system: 'other', name: 'ci', known: ['CI'], who: [], commit: [], ref: [], url: () => undefined },
];

function firstSet(
  environment: Environment,
  names: readonly string[],
  accept: (value: string) => boolean = () => true,
): string | undefined {
  return names.map((name) => environment[name]).find((value) => isSet(value) && accept(value));
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== '';
}
