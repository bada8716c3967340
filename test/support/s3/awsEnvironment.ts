/** Hides from the AWS SDK the configuration of this machine. */
export const NOTHING_OF_THE_MACHINE = {
  AWS_CONFIG_FILE: '/nonexistent',
  AWS_SHARED_CREDENTIALS_FILE: '/nonexistent',
  AWS_EC2_METADATA_DISABLED: 'true',
};

/**
 * Sets the AWS SDK's variables in this process, and hides the machine's own.
 * @returns a function that restores the previous environment.
 */
export function useAwsEnvironment(variables: Readonly<Record<string, string | undefined>>): () => void {
  const set = { ...NOTHING_OF_THE_MACHINE, ...variables };
  const before = Object.keys(set).map((name) => [name, process.env[name]] as const);
  assign(Object.entries(set));
  return () => assign(before);
}

function assign(variables: readonly (readonly [name: string, value: string | undefined])[]): void {
  for (const [name, value] of variables) {
    if (value === undefined) Reflect.deleteProperty(process.env, name);
    else process.env[name] = value;
  }
}
