/**
 * Whether the `running` Node version is new enough for a graph configuration's `node_version`: `20` requires Node 20
 * or newer, `20.11` requires 20.11 or newer. A platform has one Node, so an agent cannot require an exact version.
 * Without `node_version`, any version is new enough.
 */
export function doesForNodeVersion(asked: string | undefined, running: string): boolean {
  const wanted = (asked ?? '').split('.').map(Number);
  const there = running.split('.').map(Number);
  const difference = wanted.map((part, i) => (there[i] ?? 0) - part).find((each) => each !== 0);
  return (difference ?? 0) >= 0;
}
