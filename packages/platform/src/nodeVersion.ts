/**
 * Whether the `running` Node version is new enough for a graph configuration's `node_version`: `20` requires Node 20
 * or newer, `20.11` requires 20.11 or newer. A platform has one Node, so an agent cannot require an exact version.
 * Without `node_version`, any version is new enough.
 */
export function satisfiesNodeVersion(required: string | undefined, running: string): boolean {
  const minimum = (required ?? '').split('.').map(Number);
  const actual = running.split('.').map(Number);
  const difference = minimum.map((part, i) => (actual[i] ?? 0) - part).find((each) => each !== 0);
  return (difference ?? 0) >= 0;
}
