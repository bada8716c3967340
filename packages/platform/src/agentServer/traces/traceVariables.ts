/** OpenTelemetry variables by name: the collector and its credentials. */
export type TraceVariables = Readonly<Record<string, string>>;

/** Carries them to an agent's process, which removes it from its environment before the agent's code runs. */
const CARRIER = 'SLIPWAY_AGENT_TRACES';

/** The environment variable with an agent's trace variables; empty if tracing is off. */
export function packTraces(variables: TraceVariables | undefined): Record<string, string> {
  return variables === undefined ? {} : { [CARRIER]: JSON.stringify(variables) };
}

/** Removes from this process's environment what {@link packTraces} put there. */
export function takeTraces(): TraceVariables | undefined {
  const packed = process.env[CARRIER];
  Reflect.deleteProperty(process.env, CARRIER);
  return packed === undefined ? undefined : (JSON.parse(packed) as TraceVariables);
}

/** Runs `work` with exactly these OpenTelemetry variables in the environment. */
export function withTraceVariables<T>(variables: TraceVariables, work: () => T): T {
  const before = { ...process.env };
  const own = Object.keys(before).filter((name) => name.startsWith('OTEL_'));
  for (const name of own) Reflect.deleteProperty(process.env, name);
  Object.assign(process.env, variables);
  try {
    return work();
  } finally {
    for (const name of Object.keys(variables)) Reflect.deleteProperty(process.env, name);
    for (const name of own) process.env[name] = before[name];
  }
}
