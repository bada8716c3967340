import { readFileSync } from 'node:fs';

/** What the build wrote down of itself (`scripts/build/writeBuildInfo.mjs`). */
interface BuildInfo {
  /** `null`: it was built outside of a checkout. */
  readonly commit: string | null;
  /** The workflow bundle's id. Workers with the same one run the same workflow code. */
  readonly bundle: string;
}

/**
 * The version for people: `0.1.0 (commit 0123456789ab, bundle ba9876543210)`. Sources that run without a build have neither.
 *
 * @param place - the file that the build wrote.
 */
export function versionText(version: string, place: URL): string {
  const info = readBuildInfo(place);
  if (info === undefined) return version;
  const parts = [...(info.commit === null ? [] : [`commit ${info.commit}`]), `bundle ${info.bundle}`];
  return `${version} (${parts.join(', ')})`;
}

function readBuildInfo(place: URL): BuildInfo | undefined {
  try {
    return JSON.parse(readFileSync(place, 'utf8')) as BuildInfo;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
