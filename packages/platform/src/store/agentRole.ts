import { createHmac } from 'node:crypto';

/** The database role of a deployment's agents. */
export function agentRole(deploymentId: string): string {
  return `${PREFIX}${deploymentId}`;
}

export function isAgentRole(user: string): boolean {
  return user.startsWith(PREFIX) && /^[0-9a-f-]{36}$/u.test(user.slice(PREFIX.length));
}

/** The role's password: derived from `secret`, so that it need not be stored. */
export function agentPassword(secret: string | Buffer, role: string): string {
  return createHmac('sha256', secret).update(role).digest('base64url');
}

const PREFIX = 'slipway_agent_';

/** The deployment of the current role, in SQL; for any other role, no deployment's id. */
export const DEPLOYMENT_OF_ROLE = `(substr(current_user::text, ${PREFIX.length + 1}) COLLATE "default")`;

/** Statements that let roles other than the table's owner see and write only rows that match `condition`. */
export function rowsOf(table: string, condition: string): string[] {
  return [
    `ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`,
    `CREATE POLICY of_one_deployment ON ${table} USING (${condition}) WITH CHECK (${condition})`,
  ];
}
