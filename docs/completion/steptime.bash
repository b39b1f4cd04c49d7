# bash completion for steptime, written by 'steptime completion bash'
_steptime_names() {
    steptime list "$1" --csv 2>/dev/null | sed -n '2,$s/,.*//p'
}

_steptime_cells() {
    steptime estimate "$1" --all --csv 2>/dev/null | sed -n '2,$p' | cut -d, -f2
}

# compgen -W would run what stands in a name.
_steptime_words() {
    local words name
    read -r -d '' -a words <<<"$1"
    for name in "${words[@]}"; do
        if [[ $name == "$2"* ]]; then COMPREPLY+=("$name"); fi
    done
}

_steptime_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$@")
}

_steptime() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local verb=${COMP_WORDS[1]} job='' place=1 i
    COMPREPLY=()
    if [[ $word == '=' ]]; then word=; fi
    if [[ $before == '=' ]]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi
    local _steptime_verbs='estimate explain sheet list sweep search scale timeline plugin traffic compare import export trace validate fit fit import fit profile docs completion help'
    local _steptime_keys='name= sheet= refine= recompute= attention= model.name= model.layers= model.hidden= model.heads= model.kv_heads= model.head_dim= model.ffn= model.gated= model.bias= model.norm= model.dropout= model.causal= model.tied= model.vocabulary= model.vocabulary_multiple= model.positions= model.q_lora= model.kv_lora= model.rope_dim= model.v_dim= model.experts= model.top_k= model.expert_ffn= model.shared_ffn= model.dense_layers= model.moe_every= model.imbalance= model.capacity_factor= model.layer_list= batch.global= batch.micro= batch.sequence= parallel.tp= parallel.pp= parallel.dp= parallel.cp= parallel.ep= parallel.expert_tp= parallel.virtual_stages= parallel.schedule= parallel.first_stage_layers= parallel.last_stage_layers= parallel.sequence_parallel= parallel.zero= parallel.scatter_gather= parallel.order= precision.weights= precision.gradients= precision.optimizer= precision.communication= precision.fp8= precision.fused_wgrad= overlap.gradients= overlap.parameters= overlap.prefetch= overlap.tp= overlap.pp= overlap.cp= overlap.ep= train.tokens= measured.step_time= measured.memory= cluster.name= cluster.nodes= cluster.gpus_per_node= cluster.gpu_utilization= cluster.nic_bandwidth= cluster.bandwidth.tp= cluster.bandwidth.pp= cluster.bandwidth.dp= cluster.price= cluster.pue= cluster.gpu.name= cluster.gpu.peak_fp16= cluster.gpu.peak_bf16= cluster.gpu.peak_fp8= cluster.gpu.peak_fp32= cluster.gpu.gemm_efficiency= cluster.gpu.compute_capability= cluster.gpu.memory= cluster.gpu.memory_bandwidth= cluster.gpu.link_bandwidth= cluster.gpu.power='
    if ((COMP_CWORD == 1)); then
        _steptime_words "$_steptime_verbs --help --version" "$word"
        return
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            '=' | --model | --cluster | --gpus | --batch | --sequence | --sheet | --set | --stack | --refine | --check | --xlsx | --path | --output | -o | --color | --depth | --digits | --format | --over | --space | --cells | --where | --sample | --seed | --plot | --threads | --vary | --only | --minimise | --maximise | --top | --pareto | --method | --prune | --bound | --trials | --schedule | --option | --ranks | --detail | --perfetto | --svg | --limit | --dir | --by | --sheet-a | --sheet-b | --set-b | --assume | --layers | --have | --job | --table | --rows | --constants | --nccl | --profile | --db | --write-errors | --collective | --nodes | --loss | --scale | --group | --gpu | --form | --test | --save | --counters | --unmatched | --write | --recipe)
                ((i++))
                if [[ ${COMP_WORDS[i]} == '=' ]]; then ((i++)); fi
                ;;
            -*) ;;
            *)
                if ((place == 1)); then job=${COMP_WORDS[i]}; fi
                ((place++))
                ;;
        esac
    done
    if [[ $verb == sheet ]]; then
        if ((COMP_CWORD == 2)); then
            _steptime_words 'check show list export' "$word"
            return
        fi
        verb="$verb ${COMP_WORDS[2]}"
        ((place--))
    fi
    if [[ $verb == plugin ]]; then
        if ((COMP_CWORD == 2)); then
            _steptime_words 'list info check new' "$word"
            return
        fi
        verb="$verb ${COMP_WORDS[2]}"
        ((place--))
    fi
    if [[ $verb == import ]]; then
        if ((COMP_CWORD == 2)); then
            _steptime_words 'hf megatron megatron-bridge torchtitan deepspeed' "$word"
            return
        fi
        verb="$verb ${COMP_WORDS[2]}"
        ((place--))
    fi
    if [[ $verb == trace ]]; then
        if ((COMP_CWORD == 2)); then
            _steptime_words 'summary graph replay export layers whatif' "$word"
            return
        fi
        verb="$verb ${COMP_WORDS[2]}"
        ((place--))
    fi
    if [[ $verb == import ]]; then
        if ((COMP_CWORD == 2)); then
            _steptime_words 'nccl-topo' "$word"
            return
        fi
        verb="$verb ${COMP_WORDS[2]}"
        ((place--))
    fi
    if [[ $verb == fit ]]; then
        if ((COMP_CWORD == 2)); then
            _steptime_words 'nccl' "$word"
            return
        fi
        verb="$verb ${COMP_WORDS[2]}"
        ((place--))
    fi
    if [[ $verb == profile ]]; then
        if ((COMP_CWORD == 2)); then
            _steptime_words 'list show import export remove' "$word"
            return
        fi
        verb="$verb ${COMP_WORDS[2]}"
        ((place--))
    fi
    case "$verb:$before" in
        'estimate:--model')
            _steptime_words "$(_steptime_names models)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            return
            ;;
        'estimate:--cluster')
            _steptime_words "$(_steptime_names clusters)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            return
            ;;
        'estimate:--gpus')
            :
            return
            ;;
        'estimate:--batch')
            :
            return
            ;;
        'estimate:--sequence')
            :
            return
            ;;
        'estimate:--sheet')
            _steptime_words "$(_steptime_names sheets)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            return
            ;;
        'estimate:--set')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'estimate:--stack')
            _steptime_files -f -- "$word"
            return
            ;;
        'estimate:--refine')
            :
            return
            ;;
        'estimate:--check')
            _steptime_words 'all none' "$word"
            return
            ;;
        'estimate:--xlsx')
            _steptime_files -f -- "$word"
            return
            ;;
        'estimate:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'estimate:--output' | 'estimate:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'estimate:--color')
            _steptime_words 'auto always never' "$word"
            return
            ;;
        'explain:--depth')
            :
            return
            ;;
        'explain:--digits')
            :
            return
            ;;
        'explain:--sheet')
            _steptime_words "$(_steptime_names sheets)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            return
            ;;
        'explain:--set')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'explain:--stack')
            _steptime_files -f -- "$word"
            return
            ;;
        'explain:--refine')
            :
            return
            ;;
        'explain:--check')
            _steptime_words 'all none' "$word"
            return
            ;;
        'explain:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'explain:--output' | 'explain:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'explain:--color')
            _steptime_words 'auto always never' "$word"
            return
            ;;
        'sheet check:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'sheet show:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'sheet show:--output' | 'sheet show:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'sheet show:--color')
            _steptime_words 'auto always never' "$word"
            return
            ;;
        'sheet list:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'sheet list:--output' | 'sheet list:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'sheet export:--format')
            _steptime_words 'md latex xlsx' "$word"
            return
            ;;
        'sheet export:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'sheet export:--output' | 'sheet export:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'list:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'list:--output' | 'list:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'sweep:--over')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'sweep:--space')
            _steptime_files -f -- "$word"
            return
            ;;
        'sweep:--cells')
            _steptime_words "$(_steptime_cells "$job")" "$word"
            return
            ;;
        'sweep:--where')
            :
            return
            ;;
        'sweep:--sample')
            :
            return
            ;;
        'sweep:--seed')
            :
            return
            ;;
        'sweep:--plot')
            :
            return
            ;;
        'sweep:--xlsx')
            _steptime_files -f -- "$word"
            return
            ;;
        'sweep:--threads')
            :
            return
            ;;
        'sweep:--sheet')
            _steptime_words "$(_steptime_names sheets)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            return
            ;;
        'sweep:--set')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'sweep:--stack')
            _steptime_files -f -- "$word"
            return
            ;;
        'sweep:--refine')
            :
            return
            ;;
        'sweep:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'sweep:--output' | 'sweep:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'search:--model')
            _steptime_words "$(_steptime_names models)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            return
            ;;
        'search:--cluster')
            _steptime_words "$(_steptime_names clusters)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            return
            ;;
        'search:--batch')
            :
            return
            ;;
        'search:--sequence')
            :
            return
            ;;
        'search:--gpus')
            :
            return
            ;;
        'search:--vary')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'search:--only')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'search:--space')
            _steptime_files -f -- "$word"
            return
            ;;
        'search:--minimise')
            _steptime_words "$(_steptime_cells "$job")" "$word"
            return
            ;;
        'search:--maximise')
            _steptime_words "$(_steptime_cells "$job")" "$word"
            return
            ;;
        'search:--top')
            :
            return
            ;;
        'search:--cells')
            _steptime_words "$(_steptime_cells "$job")" "$word"
            return
            ;;
        'search:--pareto')
            _steptime_words "$(_steptime_cells "$job")" "$word"
            return
            ;;
        'search:--method')
            _steptime_words 'exhaustive bound cmaes' "$word"
            return
            ;;
        'search:--prune')
            _steptime_words 'none proven declared' "$word"
            return
            ;;
        'search:--bound')
            _steptime_words "$(_steptime_cells "$job")" "$word"
            return
            ;;
        'search:--trials')
            :
            return
            ;;
        'search:--where')
            :
            return
            ;;
        'search:--sample')
            :
            return
            ;;
        'search:--seed')
            :
            return
            ;;
        'search:--threads')
            :
            return
            ;;
        'search:--sheet')
            _steptime_words "$(_steptime_names sheets)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            return
            ;;
        'search:--set')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'search:--stack')
            _steptime_files -f -- "$word"
            return
            ;;
        'search:--refine')
            :
            return
            ;;
        'search:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'search:--output' | 'search:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'scale:--gpus')
            :
            return
            ;;
        'scale:--method')
            _steptime_words 'exhaustive bound cmaes' "$word"
            return
            ;;
        'scale:--prune')
            _steptime_words 'none proven declared' "$word"
            return
            ;;
        'scale:--bound')
            _steptime_words "$(_steptime_cells "$job")" "$word"
            return
            ;;
        'scale:--trials')
            :
            return
            ;;
        'scale:--where')
            :
            return
            ;;
        'scale:--threads')
            :
            return
            ;;
        'scale:--sheet')
            _steptime_words "$(_steptime_names sheets)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            return
            ;;
        'scale:--set')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'scale:--stack')
            _steptime_files -f -- "$word"
            return
            ;;
        'scale:--refine')
            :
            return
            ;;
        'scale:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'scale:--output' | 'scale:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'timeline:--schedule')
            :
            return
            ;;
        'timeline:--option')
            :
            return
            ;;
        'timeline:--ranks')
            _steptime_words 'stages all' "$word"
            return
            ;;
        'timeline:--detail')
            _steptime_words 'passes layers' "$word"
            return
            ;;
        'timeline:--perfetto')
            _steptime_files -f -- "$word"
            return
            ;;
        'timeline:--svg')
            _steptime_files -f -- "$word"
            return
            ;;
        'timeline:--sheet')
            _steptime_words "$(_steptime_names sheets)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            return
            ;;
        'timeline:--set')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'timeline:--stack')
            _steptime_files -f -- "$word"
            return
            ;;
        'timeline:--check')
            _steptime_words 'all none' "$word"
            return
            ;;
        'timeline:--refine')
            :
            return
            ;;
        'timeline:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'timeline:--output' | 'timeline:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'plugin list:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'plugin list:--output' | 'plugin list:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'plugin info:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'plugin info:--output' | 'plugin info:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'plugin info:--color')
            _steptime_words 'auto always never' "$word"
            return
            ;;
        'plugin check:--limit')
            :
            return
            ;;
        'plugin check:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'plugin check:--output' | 'plugin check:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'plugin check:--color')
            _steptime_words 'auto always never' "$word"
            return
            ;;
        'plugin new:--dir')
            _steptime_files -d -- "$word"
            return
            ;;
        'traffic:--by')
            _steptime_words 'tp cp ep dp pp emb' "$word"
            return
            ;;
        'traffic:--svg')
            _steptime_files -f -- "$word"
            return
            ;;
        'traffic:--sheet')
            _steptime_words "$(_steptime_names sheets)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            return
            ;;
        'traffic:--set')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'traffic:--stack')
            _steptime_files -f -- "$word"
            return
            ;;
        'traffic:--check')
            _steptime_words 'all none' "$word"
            return
            ;;
        'traffic:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'traffic:--output' | 'traffic:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'compare:--sheet-a')
            _steptime_words "$(_steptime_names sheets)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            return
            ;;
        'compare:--sheet-b')
            _steptime_words "$(_steptime_names sheets)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            return
            ;;
        'compare:--set')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'compare:--stack')
            _steptime_files -f -- "$word"
            return
            ;;
        'compare:--set-b')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'compare:--refine')
            :
            return
            ;;
        'compare:--check')
            _steptime_words 'all none' "$word"
            return
            ;;
        'compare:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'compare:--output' | 'compare:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'compare:--color')
            _steptime_words 'auto always never' "$word"
            return
            ;;
        'import hf:--cluster')
            :
            return
            ;;
        'import hf:--set')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'import hf:--assume')
            :
            return
            ;;
        'import hf:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'import hf:--output' | 'import hf:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'import megatron:--cluster')
            :
            return
            ;;
        'import megatron:--set')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'import megatron:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'import megatron:--output' | 'import megatron:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'import megatron-bridge:--cluster')
            :
            return
            ;;
        'import megatron-bridge:--set')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'import megatron-bridge:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'import megatron-bridge:--output' | 'import megatron-bridge:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'import torchtitan:--cluster')
            :
            return
            ;;
        'import torchtitan:--set')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'import torchtitan:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'import torchtitan:--output' | 'import torchtitan:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'import deepspeed:--cluster')
            :
            return
            ;;
        'import deepspeed:--set')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'import deepspeed:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'import deepspeed:--output' | 'import deepspeed:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'export:--set')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'export:--stack')
            _steptime_files -f -- "$word"
            return
            ;;
        'export:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'export:--output' | 'export:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'trace summary:--top')
            :
            return
            ;;
        'trace summary:--output' | 'trace summary:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'trace graph:--output' | 'trace graph:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'trace replay:--output' | 'trace replay:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'trace export:--output' | 'trace export:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'trace layers:--layers')
            :
            return
            ;;
        'trace layers:--output' | 'trace layers:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'trace layers:--color')
            _steptime_words 'auto always never' "$word"
            return
            ;;
        'trace whatif:--set')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'trace whatif:--have')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'trace whatif:--job')
            _steptime_words "$(_steptime_names jobs)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            return
            ;;
        'trace whatif:--refine')
            :
            return
            ;;
        'trace whatif:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'trace whatif:--output' | 'trace whatif:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'validate:--table')
            _steptime_files -f -- "$word"
            return
            ;;
        'validate:--rows')
            :
            return
            ;;
        'validate:--constants')
            _steptime_files -f -- "$word"
            return
            ;;
        'validate:--sheet')
            _steptime_words "$(_steptime_names sheets)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            return
            ;;
        'validate:--set')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'validate:--stack')
            _steptime_files -f -- "$word"
            return
            ;;
        'validate:--nccl')
            _steptime_files -f -- "$word"
            return
            ;;
        'validate:--profile')
            :
            return
            ;;
        'validate:--db')
            _steptime_files -f -- "$word"
            return
            ;;
        'validate:--write-errors')
            _steptime_files -f -- "$word"
            return
            ;;
        'validate:--refine')
            :
            return
            ;;
        'validate:--option')
            :
            return
            ;;
        'validate:--cluster')
            :
            return
            ;;
        'validate:--collective')
            _steptime_words 'all_reduce all_gather reduce_scatter broadcast all_to_all send_recv reduce gather scatter' "$word"
            return
            ;;
        'validate:--ranks')
            :
            return
            ;;
        'validate:--nodes')
            :
            return
            ;;
        'validate:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'validate:--output' | 'validate:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'validate:--color')
            _steptime_words 'auto always never' "$word"
            return
            ;;
        'fit:--table')
            _steptime_files -f -- "$word"
            return
            ;;
        'fit:--rows')
            :
            return
            ;;
        'fit:--vary')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'fit:--loss')
            _steptime_words 'soft-l1 square' "$word"
            return
            ;;
        'fit:--scale')
            :
            return
            ;;
        'fit:--group')
            :
            return
            ;;
        'fit:--output' | 'fit:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'fit:--sheet')
            _steptime_words "$(_steptime_names sheets)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            return
            ;;
        'fit:--constants')
            _steptime_files -f -- "$word"
            return
            ;;
        'fit:--set')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'fit:--stack')
            _steptime_files -f -- "$word"
            return
            ;;
        'fit:--refine')
            :
            return
            ;;
        'fit:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'fit:--color')
            _steptime_words 'auto always never' "$word"
            return
            ;;
        'fit kernels:--table')
            _steptime_files -f -- "$word"
            return
            ;;
        'fit kernels:--rows')
            :
            return
            ;;
        'fit kernels:--constants')
            _steptime_files -f -- "$word"
            return
            ;;
        'fit kernels:--sheet')
            _steptime_words "$(_steptime_names sheets)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            return
            ;;
        'fit kernels:--set')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'fit kernels:--stack')
            _steptime_files -f -- "$word"
            return
            ;;
        'fit kernels:--gpu')
            :
            return
            ;;
        'fit kernels:--job')
            _steptime_words "$(_steptime_names jobs)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            return
            ;;
        'fit kernels:--layers')
            :
            return
            ;;
        'fit kernels:--form')
            _steptime_words 'roofline trees trees-on-roofline' "$word"
            return
            ;;
        'fit kernels:--test')
            _steptime_files -f -- "$word"
            return
            ;;
        'fit kernels:--save')
            :
            return
            ;;
        'fit kernels:--db')
            _steptime_files -f -- "$word"
            return
            ;;
        'fit kernels:--output' | 'fit kernels:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'fit kernels:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'fit kernels:--color')
            _steptime_words 'auto always never' "$word"
            return
            ;;
        'fit overlap:--counters')
            _steptime_files -f -- "$word"
            return
            ;;
        'fit overlap:--unmatched')
            :
            return
            ;;
        'fit overlap:--write')
            _steptime_files -f -- "$word"
            return
            ;;
        'fit overlap:--test')
            _steptime_files -f -- "$word"
            return
            ;;
        'fit overlap:--gpu')
            :
            return
            ;;
        'fit overlap:--recipe')
            _steptime_words 'echo bag-40 bag-25' "$word"
            return
            ;;
        'fit overlap:--svg')
            _steptime_files -f -- "$word"
            return
            ;;
        'fit overlap:--output' | 'fit overlap:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'fit overlap:--save')
            :
            return
            ;;
        'fit overlap:--db')
            _steptime_files -f -- "$word"
            return
            ;;
        'fit overlap:--cluster')
            :
            return
            ;;
        'import nccl-topo:--gpu')
            :
            return
            ;;
        'import nccl-topo:--nodes')
            :
            return
            ;;
        'import nccl-topo:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'import nccl-topo:--output' | 'import nccl-topo:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'fit nccl:--refine')
            :
            return
            ;;
        'fit nccl:--option')
            :
            return
            ;;
        'fit nccl:--cluster')
            :
            return
            ;;
        'fit nccl:--collective')
            _steptime_words 'all_reduce all_gather reduce_scatter broadcast all_to_all send_recv reduce gather scatter' "$word"
            return
            ;;
        'fit nccl:--ranks')
            :
            return
            ;;
        'fit nccl:--nodes')
            :
            return
            ;;
        'fit nccl:--save')
            :
            return
            ;;
        'fit nccl:--db')
            _steptime_files -f -- "$word"
            return
            ;;
        'fit nccl:--set')
            _steptime_words "$_steptime_keys" "$word"
            compopt -o nospace 2>/dev/null
            return
            ;;
        'fit nccl:--stack')
            _steptime_files -f -- "$word"
            return
            ;;
        'fit nccl:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'fit nccl:--output' | 'fit nccl:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'fit nccl:--color')
            _steptime_words 'auto always never' "$word"
            return
            ;;
        'profile list:--db')
            _steptime_files -f -- "$word"
            return
            ;;
        'profile list:--output' | 'profile list:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'profile list:--color')
            _steptime_words 'auto always never' "$word"
            return
            ;;
        'profile show:--db')
            _steptime_files -f -- "$word"
            return
            ;;
        'profile show:--output' | 'profile show:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'profile show:--color')
            _steptime_words 'auto always never' "$word"
            return
            ;;
        'profile import:--db')
            _steptime_files -f -- "$word"
            return
            ;;
        'profile export:--db')
            _steptime_files -f -- "$word"
            return
            ;;
        'profile export:--output' | 'profile export:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'profile remove:--db')
            _steptime_files -f -- "$word"
            return
            ;;
        'docs:--path')
            _steptime_files -d -- "$word"
            return
            ;;
        'docs:--output' | 'docs:-o')
            _steptime_files -f -- "$word"
            return
            ;;
        'completion:--output' | 'completion:-o')
            _steptime_files -f -- "$word"
            return
            ;;
    esac
    if [[ $word == -* ]]; then
        case $verb in
        'estimate') _steptime_words '--help --model --cluster --gpus --batch --sequence --sheet --set --stack --refine --check --all --json --csv --xlsx --path --output --color' "$word" ;;
        'explain') _steptime_words '--help --depth --digits --sheet --set --stack --refine --check --json --path --output --color' "$word" ;;
        'sheet check') _steptime_words '--help --path' "$word" ;;
        'sheet show') _steptime_words '--help --program --json --path --output --color' "$word" ;;
        'sheet list') _steptime_words '--help --json --csv --path --output' "$word" ;;
        'sheet export') _steptime_words '--help --format --path --output' "$word" ;;
        'list') _steptime_words '--help --json --csv --path --output' "$word" ;;
        'sweep') _steptime_words '--help --over --zip --space --cells --where --all --sample --seed --plot --xlsx --threads --sheet --set --stack --refine --json --csv --path --output' "$word" ;;
        'search') _steptime_words '--help --model --cluster --batch --sequence --gpus --vary --only --space --minimise --maximise --top --cells --pareto --method --prune --bound --trials --where --sample --seed --threads --verbose --sheet --set --stack --refine --json --csv --path --output' "$word" ;;
        'scale') _steptime_words '--help --gpus --weak --strong --fixed --method --prune --bound --trials --where --threads --sheet --set --stack --refine --json --csv --path --output' "$word" ;;
        'timeline') _steptime_words '--help --schedule --option --ranks --detail --perfetto --svg --sheet --set --stack --check --refine --json --csv --path --output' "$word" ;;
        'plugin list') _steptime_words '--help --json --csv --path --output' "$word" ;;
        'plugin info') _steptime_words '--help --json --path --output --color' "$word" ;;
        'plugin check') _steptime_words '--help --limit --json --csv --path --output --color' "$word" ;;
        'plugin new') _steptime_words '--help --dir' "$word" ;;
        'traffic') _steptime_words '--help --by --svg --sheet --set --stack --check --json --csv --path --output' "$word" ;;
        'compare') _steptime_words '--help --sheet-a --sheet-b --set --stack --set-b --refine --all --timeline --check --json --csv --path --output --color' "$word" ;;
        'import hf') _steptime_words '--help --cluster --set --assume --path --output' "$word" ;;
        'import megatron') _steptime_words '--help --cluster --set --path --output' "$word" ;;
        'import megatron-bridge') _steptime_words '--help --cluster --set --path --output' "$word" ;;
        'import torchtitan') _steptime_words '--help --cluster --set --path --output' "$word" ;;
        'import deepspeed') _steptime_words '--help --cluster --set --path --output' "$word" ;;
        'export') _steptime_words '--help --set --stack --path --output' "$word" ;;
        'trace summary') _steptime_words '--help --partial --top --json --csv --output' "$word" ;;
        'trace graph') _steptime_words '--help --partial --json --csv --output' "$word" ;;
        'trace replay') _steptime_words '--help --partial --json --csv --output' "$word" ;;
        'trace export') _steptime_words '--help --partial --no-delays --output' "$word" ;;
        'trace layers') _steptime_words '--help --layers --partial --json --output --color' "$word" ;;
        'trace whatif') _steptime_words '--help --set --have --job --refine --approximate --partial --json --csv --path --output' "$word" ;;
        'validate') _steptime_words '--help --table --rows --constants --sheet --set --stack --nccl --profile --db --write-errors --pairs --refine --option --cluster --collective --ranks --nodes --in-place --out-of-place --all --json --csv --path --output --color' "$word" ;;
        'fit') _steptime_words '--help --table --rows --vary --loss --scale --group --output --sheet --constants --set --stack --refine --json --path --color' "$word" ;;
        'fit kernels') _steptime_words '--help --table --rows --constants --sheet --set --stack --gpu --job --layers --form --test --leave-one-out --save --db --output --json --path --color' "$word" ;;
        'fit overlap') _steptime_words '--help --pairs --counters --unmatched --write --test --gpu --recipe --allow-faster --svg --output --save --db --cluster --json' "$word" ;;
        'import nccl-topo') _steptime_words '--help --gpu --nodes --path --output' "$word" ;;
        'fit nccl') _steptime_words '--help --refine --option --cluster --collective --ranks --nodes --in-place --out-of-place --each --save --db --all --set --stack --json --csv --path --output --color' "$word" ;;
        'profile list') _steptime_words '--help --db --json --csv --output --color' "$word" ;;
        'profile show') _steptime_words '--help --db --json --output --color' "$word" ;;
        'profile import') _steptime_words '--help --db --replace' "$word" ;;
        'profile export') _steptime_words '--help --db --output' "$word" ;;
        'profile remove') _steptime_words '--help --db' "$word" ;;
        'docs') _steptime_words '--help --path --output' "$word" ;;
        'completion') _steptime_words '--help --output' "$word" ;;
        'help') _steptime_words '--help' "$word" ;;
        esac
        return
    fi
    case "$verb:$place" in
        'estimate:1')
            _steptime_words "$(_steptime_names jobs)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            ;;
        'explain:1')
            _steptime_words "$(_steptime_names jobs)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            ;;
        'explain:'*)
            _steptime_words "$(_steptime_cells "$job")" "$word"
            ;;
        'sheet check:1')
            _steptime_words "$(_steptime_names sheets)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            ;;
        'sheet check:'*)
            _steptime_words "$(_steptime_names sheets)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            ;;
        'sheet show:1')
            _steptime_words "$(_steptime_names sheets)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            ;;
        'sheet export:1')
            _steptime_words "$(_steptime_names sheets)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            ;;
        'list:1')
            _steptime_words 'jobs models clusters gpus stacks constants sheets sources tables' "$word"
            ;;
        'sweep:1')
            _steptime_words "$(_steptime_names jobs)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            ;;
        'search:1')
            _steptime_words "$(_steptime_names jobs)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            ;;
        'scale:1')
            _steptime_words "$(_steptime_names jobs)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            ;;
        'timeline:1')
            _steptime_words "$(_steptime_names jobs)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            ;;
        'plugin info:1')
            _steptime_files -f -- "$word"
            ;;
        'plugin check:1')
            _steptime_files -f -- "$word"
            ;;
        'traffic:1')
            _steptime_words "$(_steptime_names jobs)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            ;;
        'compare:1')
            _steptime_words "$(_steptime_names jobs)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            ;;
        'compare:'*)
            _steptime_words "$(_steptime_names jobs)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            ;;
        'import hf:1')
            _steptime_files -f -- "$word"
            ;;
        'import megatron:1')
            _steptime_files -f -- "$word"
            ;;
        'import megatron-bridge:1')
            _steptime_files -f -- "$word"
            ;;
        'import torchtitan:1')
            _steptime_files -f -- "$word"
            ;;
        'import deepspeed:1')
            _steptime_files -f -- "$word"
            ;;
        'export:1')
            _steptime_words 'megatron megatron-bridge torchtitan deepspeed' "$word"
            ;;
        'export:'*)
            _steptime_words "$(_steptime_names jobs)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            ;;
        'trace summary:1')
            _steptime_files -f -- "$word"
            ;;
        'trace summary:'*)
            _steptime_files -f -- "$word"
            ;;
        'trace graph:1')
            _steptime_files -f -- "$word"
            ;;
        'trace graph:'*)
            _steptime_files -f -- "$word"
            ;;
        'trace replay:1')
            _steptime_files -f -- "$word"
            ;;
        'trace replay:'*)
            _steptime_files -f -- "$word"
            ;;
        'trace export:1')
            _steptime_files -f -- "$word"
            ;;
        'trace export:'*)
            _steptime_files -f -- "$word"
            ;;
        'trace layers:1')
            _steptime_files -f -- "$word"
            ;;
        'trace layers:'*)
            _steptime_files -f -- "$word"
            ;;
        'trace whatif:1')
            _steptime_files -f -- "$word"
            ;;
        'trace whatif:'*)
            _steptime_files -f -- "$word"
            ;;
        'validate:1')
            _steptime_words "$(_steptime_names sources)" "$word"
            ;;
        'validate:'*)
            _steptime_words "$(_steptime_names sources)" "$word"
            ;;
        'fit:1')
            _steptime_words "$(_steptime_names jobs)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            ;;
        'fit:'*)
            _steptime_words "$(_steptime_names jobs)" "$word"
            _steptime_files -f -X '!*.yaml' -- "$word"
            ;;
        'fit kernels:1')
            _steptime_files -f -- "$word"
            ;;
        'fit kernels:'*)
            _steptime_files -f -- "$word"
            ;;
        'fit overlap:1')
            _steptime_files -f -- "$word"
            ;;
        'fit overlap:'*)
            _steptime_files -f -- "$word"
            ;;
        'import nccl-topo:1')
            _steptime_files -f -- "$word"
            ;;
        'fit nccl:1')
            _steptime_files -f -- "$word"
            ;;
        'fit nccl:'*)
            _steptime_files -f -- "$word"
            ;;
        'profile import:1')
            _steptime_files -f -- "$word"
            ;;
        'docs:1')
            _steptime_words 'configuration commands formulas man' "$word"
            ;;
        'completion:1')
            _steptime_words 'bash' "$word"
            ;;
        'help:1')
            _steptime_words "$_steptime_verbs" "$word"
            ;;
        'help:'*)
            _steptime_words "$_steptime_verbs" "$word"
            ;;
    esac
}

complete -F _steptime steptime
