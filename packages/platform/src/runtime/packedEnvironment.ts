/**
 * Carries variables to an agent whose names a shell drops (`my-key.x`): it is started through one, and secrets may have
 * such names. They travel in one variable of their own, and the agent puts them back before its code sees anything.
 */
const CARRIER = 'SLIPWAY_AGENT_FURTHER_ENVIRONMENT';

/** The same environment, as it gets through a shell. */
export function packEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(env);
  const dropped = entries.filter(([name]) => !SHELL_NAME.test(name));
  if (dropped.length === 0) return { ...env };
  return {
    ...Object.fromEntries(entries.filter(([name]) => SHELL_NAME.test(name))),
    [CARRIER]: JSON.stringify(Object.fromEntries(dropped)),
  };
}

/** Puts what was packed back into this process's environment. */
export function unpackEnvironment(): void {
  const packed = process.env[CARRIER];
  Reflect.deleteProperty(process.env, CARRIER);
  if (packed !== undefined) Object.assign(process.env, JSON.parse(packed) as Record<string, string>);
}

const SHELL_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
