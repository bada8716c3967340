/** Where the CI of a repository runs, as far as there is a file for it. */
export const CI_KINDS = ['github', 'gitlab', 'none'] as const;
export type CiKind = (typeof CI_KINDS)[number];
