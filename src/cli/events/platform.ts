import type { Uuid, WholeNumber } from '../../domain/scalars.ts';

/** The events of `slipway platform`. */
export interface PlatformSections {
  /** `platform` */
  readonly platform: {
    /** The platform accepts requests. */
    readonly ready: {
      readonly controlPlane: string;
      /** The control plane's API key: keep it out of logs. */
      readonly apiKey: string;
    };
  };

  /**
   * `platform integrations`
   *
   * The fields of this section and of the next two have the control plane's own names, with whatever else it answers.
   */
  readonly platformIntegrations: {
    /** `add` and `list`: one for each integration. */
    readonly integration: {
      /** The `integration_id` of a deployment. */
      readonly id: Uuid;
      readonly installation_id?: WholeNumber | null | undefined;
      readonly name?: string | null | undefined;
      readonly url_prefix?: string | null | undefined;
      readonly username?: string | null | undefined;
      /** Where the secret is, never the secret itself. */
      readonly credential?: string | null | undefined;
      /** Where the secret is, never the secret itself. */
      readonly webhook_secret?: string | null | undefined;
      readonly webhook_url?: string | null | undefined;
      readonly created_at?: string | null | undefined;
    };
    /** `remove` */
    readonly removed: { readonly id: Uuid; readonly name?: string | null | undefined };
  };

  /**
   * `platform listeners`
   *
   * A listener that was made with the public names is printed with them (docs/public-vocabulary.md).
   */
  readonly platformListeners: {
    /** `add` and `list`: one for each listener, newest first. */
    readonly listener: {
      /** The `listener_id` of a deployment. */
      readonly id: Uuid;
      /** `cluster`, `docker`; others may come. */
      readonly compute_type: string;
      readonly compute_id?: string | null | undefined;
      readonly compute_config?:
        | {
            readonly cluster_namespaces?: readonly string[] | null | undefined;
            readonly [field: string]: unknown;
          }
        | null
        | undefined;
      readonly version?: string | null | undefined;
      readonly created_at?: string | null | undefined;
      readonly updated_at?: string | null | undefined;
    };
    /** `remove` */
    readonly removed: { readonly id: Uuid; readonly compute_id?: string | null | undefined };
  };

  /** `platform keys`, `platform secrets`, `platform audit` */
  readonly platformAccess: {
    /** `keys create`: the new key. `keys list`: one for each key. */
    readonly key: {
      readonly id: Uuid;
      readonly name: string;
      /** The beginning of the key: enough to identify it, not to use it. */
      readonly prefix: string;
      readonly scope: 'read' | 'deploy' | 'admin';
      readonly tenant_ids: readonly Uuid[];
      /** The id of the key that made it. `operator`: the platform’s own key. */
      readonly created_by: string;
      readonly created_at: string;
      readonly expires_at: string | null;
      readonly revoked_at: string | null;
      /** Up to a minute late. */
      readonly last_used_at: string | null;
      /** Only `create` prints it, only once: keep it out of logs. */
      readonly key?: string;
    };
    /** `keys revoke` */
    readonly key_revoked: { readonly id: Uuid };
    /** `secrets rotate` */
    readonly secrets_rotated: {
      /** How many lists of secrets were encrypted again. */
      readonly resealed: WholeNumber;
    };
    /** `audit`: one for each change, newest first. */
    readonly change: {
      readonly id: string;
      readonly at: string;
      readonly tenant_id: Uuid;
      /** The id of an API key. `operator`: the platform’s own key. `platform`: the platform itself. */
      readonly key_id: string;
      readonly key_name: string;
      readonly operation: string;
      /** The ids of the changed resources, by kind. */
      readonly resources: Readonly<Record<string, string>>;
      /** The names of the changed fields, never their values. */
      readonly changed: readonly string[];
      readonly outcome: 'done' | 'refused' | 'failed';
      /** The HTTP status of the answer. `null`: the platform recorded the change together with the change itself. */
      readonly status: WholeNumber | null;
      readonly address: string | null;
      readonly user_agent: string | null;
    };
  };
}
