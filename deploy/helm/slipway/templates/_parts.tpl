{{- define "slipway.labels" -}}
app.kubernetes.io/name: slipway
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{- define "slipway.selector" -}}
app.kubernetes.io/name: slipway
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "slipway.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{- define "slipway.pod" -}}
serviceAccountName: {{ .root.Release.Name }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  # `node` in the image.
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "slipway.container" -}}
image: {{ include "slipway.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{- define "slipway.ending" -}}
# Requests arrive until every node knows that the pod ends.
lifecycle:
  preStop: { exec: { command: [sleep, '5'] } }
{{- end }}

{{- define "slipway.temporal" -}}
- { name: TEMPORAL_ADDRESS, value: {{ .Values.temporal.address | quote }} }
- { name: TEMPORAL_NAMESPACE, value: {{ .Values.temporal.namespace | quote }} }
- { name: SLIPWAY_TASK_QUEUE, value: {{ .Values.temporal.taskQueue | quote }} }
{{- range $name, $value := .Values.temporal.env }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- if .Values.secretOrigins }}
- { name: SLIPWAY_SECRET_ORIGINS, value: /etc/slipway/secret-origins.yaml }
{{- end }}
{{- range $name, $value := .Values.env }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}

{{- define "slipway.mounts" -}}
- { name: home, mountPath: /var/lib/slipway }
- { name: tmp, mountPath: /tmp }
{{- if .Values.secretOrigins }}
- { name: secret-origins, mountPath: /etc/slipway, readOnly: true }
{{- end }}
{{- end }}

{{- define "slipway.volumes" -}}
- { name: home, emptyDir: {} }
- { name: tmp, emptyDir: {} }
{{- if .Values.secretOrigins }}
- { name: secret-origins, configMap: { name: {{ .Release.Name }}-secret-origins } }
{{- end }}
{{- end }}
