import { createHmac, randomBytes } from 'node:crypto';

/** The keys that agents ask for: one per deployment, known to the platform and to that deployment's agents alone. */
export interface AgentKeys {
  of(deploymentId: string): string;
}

/** Makes {@link AgentKeys}. They live as long as the process, as the agents that it starts do: none is stored. */
export function createAgentKeys(): AgentKeys {
  const secret = randomBytes(32);
  return { of: (deploymentId) => createHmac('sha256', secret).update(deploymentId).digest('base64url') };
}
