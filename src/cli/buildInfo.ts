import { readFileSync } from 'node:fs';

/** Facts about the build, written by `scripts/build/writeBuildInfo.mjs`. */
interface BuildInfo {
  /** `null`: built outside a git checkout. */
  readonly commit: string | null;
  /** The workflow bundle's id. Workers with the same id run the same workflow code. */
  readonly bundle: string;
}

/** The version for people: `0.1.0 (commit …, bundle …)`; without a build info file, only the number. */
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
