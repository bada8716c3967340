import { createHmac } from 'node:crypto';

/** The role that a deployment's agents reach the database as. */
export function agentRole(deploymentId: string): string {
  return `${PREFIX}${deploymentId}`;
}

/** Whether a user name is an agent's role. */
export function isAgentRole(user: string): boolean {
  return user.startsWith(PREFIX) && /^[0-9a-f-]{36}$/u.test(user.slice(PREFIX.length));
}

/** The role's password: derived, so that a process that knows `secret` needs to store none. */
export function agentPassword(secret: string | Buffer, role: string): string {
  return createHmac('sha256', secret).update(role).digest('base64url');
}

const PREFIX = 'slipway_agent_';

/** The deployment whose role asks, in SQL; no deployment's id for any other role. */
export const DEPLOYMENT_OF_ROLE = `(substr(current_user::text, ${PREFIX.length + 1}) COLLATE "default")`;

/** Statements that let a role other than the table's owner see and write only the rows for which `condition` holds. */
export function rowsOf(table: string, condition: string): string[] {
  return [
    `ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`,
    `CREATE POLICY of_one_deployment ON ${table} USING (${condition}) WITH CHECK (${condition})`,
  ];
}
