/** Why a repository could not be read. `message` is the reason, for the person whose source it is. */
export class GitFailure extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'GitFailure';
  }
}

/** What git says (in the language C), and what that means. The first that fits counts. */
const MEANINGS: readonly (readonly [said: RegExp, meaning: (repository: string) => string])[] = [
  [/File too large/i, (repository) => `${repository} is larger than this platform takes.`],
  [
    /Authentication failed|HTTP Basic: Access denied|returned error: (401|403)|Permission denied \(|Invalid username or |error in libcrypto|Load key/i,
    (repository) => `The host of ${repository} refused the credential.`,
  ],
  [
    /could not read (Username|Password)|terminal prompts disabled/i,
    (repository) =>
      `The host of ${repository} asks for a credential: either there is no such repository, or the deployment needs an integration (source_config.integration_id) that has the credential.`,
  ],
  [
    /repository .*not found|returned error: 404|does not appear to be a git repository|does not exist|not exported/i,
    (repository) => `There is no git repository at ${repository}, or not for this credential.`,
  ],
  [
    /Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED/i,
    (repository) => `The host of ${repository} has another ssh key than when it was first seen.`,
  ],
  [
    /transport '?[\w-]+'? not allowed/i,
    (repository) => `${repository} leads to another protocol than its address says, which is not followed.`,
  ],
  [
    /Could not resolve host|Failed to connect|Connection (refused|timed out|reset|closed)|Operation too slow|early EOF|hung up unexpectedly|returned error: 5\d\d/i,
    (repository) => `The host of ${repository} could not be reached, or did not answer.`,
  ],
];

/** How many of git's last lines a reason holds. */
const LINES_IN_REASON = 5;

/** The failure that git's output tells of. */
export function failureOf(repository: string, lines: readonly string[]): GitFailure {
  const all = lines.join('\n');
  const [, meaning] = MEANINGS.find(([said]) => said.test(all)) ?? [];
  const last = lines.slice(-LINES_IN_REASON).join('\n');
  return new GitFailure(
    `${meaning?.(repository) ?? `${repository} could not be read.`} git said:\n${last === '' ? 'nothing' : last}`,
  );
}
