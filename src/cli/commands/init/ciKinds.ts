export const CI_KINDS = ['github', 'gitlab', 'none'] as const;
export type CiKind = (typeof CI_KINDS)[number];
